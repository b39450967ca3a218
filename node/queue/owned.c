#include "node/queue/owned.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"

/* ---- a round: what a process has noted is released, bucket by bucket ---- */

struct released {
    struct op op;
    struct owned_round *round;
    char text[];
};

struct owned_round {
    struct owned *owned;
    struct worker_beat of;
    unsigned bucket;
    struct op notes;
    unsigned unanswered; /* releases */
    unsigned ended;      /* of this page: notes that are gone */
    bool is_full;        /* the page was: there may be more */
    bool is_clean;       /* the store took all so far */
    uint64_t count;      /* jobs released */
};

static void ask_bucket(struct owned_round *round);
static void round_end(struct owned_round *round);

static bool may_go_on(const struct owned_round *round)
{
    const struct owned *o = round->owned;

    return o->leads && o->is_store_up && !o->is_closing && core_may_act(o->core);
}

static void next_bucket(struct owned_round *round)
{
    round->bucket++;
    if (round->bucket == round->owned->core->store->buckets)
        round_end(round);
    else
        ask_bucket(round);
}

/* A page that ended no note would come again. */
static void end_page(struct owned_round *round)
{
    if (round->is_full && round->ended > 0)
        ask_bucket(round);
    else
        next_bucket(round);
}

static bool is_over(enum status status)
{
    return status == STATUS_OK || status == STATUS_NOT_FOUND || status == STATUS_NOT_RESERVED ||
           status == STATUS_NOT_OWNER;
}

static void on_released(struct op *op)
{
    struct released *released = CONTAINER_OF(op, struct released, op);
    struct owned_round *round = released->round;

    round->count += op->status == STATUS_OK;
    round->ended += is_over(op->status);
    round->is_clean &= is_over(op->status);
    free(released);
    if (--round->unanswered == 0)
        end_page(round);
}

static void release(struct owned_round *round, const struct note *note)
{
    struct released *released =
        must(calloc(1, sizeof(*released) + note->topic.len + note->id.len));
    char *text = released->text;

    released->round = round;
    released->op = (struct op){.verb = OP_RELEASE,
                               .on_done = on_released,
                               .bucket = round->bucket,
                               .topic = text_put(&text, note->topic),
                               .id = text_put(&text, note->id)};
    released->op.in.lease = (struct op_lease){
        .stamp = note->stamp, .is_end = true, .is_owned = true, .worker = round->of.worker};
    round->unanswered++;
    core_send(round->owned->core, &released->op);
}

/* A process that makes a note lives, or has just died. */
static bool is_young(const struct note *note, int64_t now_ms)
{
    return now_ms >= note->made_ms && now_ms - note->made_ms < OWNED_SILENCE_MS;
}

static void on_notes(struct op *op)
{
    struct owned_round *round = CONTAINER_OF(op, struct owned_round, notes);
    bool is_ok = op->status == STATUS_OK;

    round->ended = 0;
    round->is_full = is_ok && op->out.notes.count == OP_NOTES_MAX;
    round->is_clean &= is_ok && may_go_on(round);
    for (unsigned i = 0; is_ok && may_go_on(round) && i < op->out.notes.count; i++) {
        const struct note *note = &op->out.notes.items[i];

        if (is_young(note, op->now_ms) || note->topic.len > NAME_MAX_BYTES ||
            note->id.len > NAME_MAX_BYTES)
            round->is_clean = false;
        else
            release(round, note);
    }
    if (round->unanswered == 0)
        end_page(round);
}

/* A bucket that is away is left for the next round. */
static void ask_bucket(struct owned_round *round)
{
    struct owned *o = round->owned;
    unsigned buckets = o->core->store->buckets;

    while (round->bucket < buckets && core_is_away(o->core, round->bucket)) {
        round->bucket++;
        round->is_clean = false;
    }
    if (round->bucket == buckets || !may_go_on(round)) {
        round->is_clean &= round->bucket == buckets;
        round_end(round);
        return;
    }
    round->notes = (struct op){.verb = OP_NOTES, .bucket = round->bucket, .on_done = on_notes};
    round->notes.in.notes.worker = round->of.worker;
    round->notes.in.notes.limit = OP_NOTES_MAX;
    core_send(o->core, &round->notes);
}

static void watch_anew(struct owned *o, uint64_t worker);

static void round_end(struct owned_round *round)
{
    struct owned *o = round->owned;

    if (round->count)
        LOG_INFO("queue",
                 "process %016" PRIx64 " is silent: %" PRIu64
                 " jobs of its clients are released",
                 round->of.worker, round->count);
    if (round->is_clean)
        o->done = round->of;
    else
        watch_anew(o, round->of.worker);
    o->round = NULL;
    free(round);
}

static void begin_round(struct owned *o, const struct worker_beat *of)
{
    o->round = must(calloc(1, sizeof(*o->round)));
    o->round->owned = o;
    o->round->of = *of;
    o->round->is_clean = true;
    ask_bucket(o->round);
}

/* ---- watching ---- */

static void forget_suspects(struct owned *o)
{
    o->suspect_count = 0;
}

static struct owned_suspect *find_suspect(struct owned *o, const struct worker_beat *beat)
{
    for (unsigned i = 0; i < o->suspect_count; i++) {
        if (o->suspects[i].beat.worker == beat->worker)
            return &o->suspects[i];
    }
    return NULL;
}

/* What is left comes again when the process has been silent for as long once more. */
static void watch_anew(struct owned *o, uint64_t worker)
{
    for (unsigned i = 0; i < o->suspect_count; i++) {
        if (o->suspects[i].beat.worker == worker)
            o->suspects[i].since_mono_ms = timers_now(o->core->timers);
    }
}

static void suspect(struct owned *o, const struct worker_beat *beat, int64_t now_mono_ms)
{
    struct owned_suspect *s = find_suspect(o, beat);

    if (!s && o->suspect_count == OP_BEATS_MAX)
        return;
    if (!s) {
        s = &o->suspects[o->suspect_count++];
        s->beat.last_ms = -1;
    }
    if (s->beat.last_ms != beat->last_ms)
        s->since_mono_ms = now_mono_ms;
    s->beat = *beat;
    s->is_told = true;
}

static void drop_untold(struct owned *o)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < o->suspect_count; i++) {
        if (o->suspects[i].is_told)
            o->suspects[kept++] = o->suspects[i];
    }
    o->suspect_count = kept;
}

static void take_silent(struct owned *o, const struct op *look)
{
    int64_t now_mono_ms = timers_now(o->core->timers);

    for (unsigned i = 0; i < o->suspect_count; i++)
        o->suspects[i].is_told = false;
    for (unsigned i = 0; i < look->out.beat.count; i++) {
        if (look->out.beat.silent[i].worker != o->core->store->worker)
            suspect(o, &look->out.beat.silent[i], now_mono_ms);
    }
    drop_untold(o);
    for (unsigned i = 0; i < o->suspect_count && !o->round; i++) {
        const struct owned_suspect *s = &o->suspects[i];

        if (look->sent_mono_ms - s->since_mono_ms >= OWNED_SILENCE_MS &&
            s->beat.worker != o->done.worker)
            begin_round(o, &s->beat);
    }
}

/* ---- beats ---- */

static void arm(struct owned *o)
{
    if ((o->owns || o->leads) && !o->is_closing)
        timer_arm(o->core->timers, &o->timer, OWNED_BEAT_MS);
}

static void on_beat(struct op *op)
{
    struct owned *o = CONTAINER_OF(op, struct owned, beat);
    bool is_late = timers_now(o->core->timers) - op->sent_mono_ms > OWNED_LATE_MS;

    o->is_asking = false;
    if (op->status != STATUS_OK || is_late || !o->leads || !o->is_store_up)
        forget_suspects(o);
    else if (op->in.beat.age_ms)
        take_silent(o, op);
    if (op->status == STATUS_OK && op->in.beat.forget.worker == o->done.worker)
        o->done.worker = 0;
}

static void send_beat(struct owned *o, bool leaves)
{
    o->is_asking = true;
    o->beat = (struct op){.verb = OP_BEAT, .on_done = on_beat};
    o->beat.in.beat.is_there = o->owns && !leaves;
    o->beat.in.beat.leaves = leaves;
    o->beat.in.beat.age_ms = o->leads && !leaves ? OWNED_LATE_MS : 0;
    o->beat.in.beat.forget = o->done;
    core_send(o->core, &o->beat);
}

/* One that has no answer yet says enough. */
static void on_timer(struct timer *timer)
{
    struct owned *o = CONTAINER_OF(timer, struct owned, timer);

    arm(o);
    if (!o->is_asking && (o->owns || core_may_act(o->core)))
        send_beat(o, false);
}

void owned_before(struct owned *o, const struct op *op)
{
    if (o->owns || (op->verb != OP_POP && op->verb != OP_TAKE) || !op->in.pop.is_owned)
        return;
    o->owns = true;
    if (!o->is_asking)
        send_beat(o, false);
    if (!timer_is_armed(&o->timer))
        arm(o);
}

/* ---- what happens around ---- */

void owned_set_leading(struct owned *o, bool leads)
{
    o->leads = leads;
    forget_suspects(o);
    o->done.worker = 0;
    if (!timer_is_armed(&o->timer))
        arm(o);
}

void owned_set_store(struct owned *o, bool is_up)
{
    o->is_store_up = is_up;
    forget_suspects(o);
    if (is_up && o->owns && !o->is_asking && !o->is_closing)
        send_beat(o, false);
}

void owned_set_bucket(struct owned *o, unsigned bucket)
{
    if (bucket == 0)
        forget_suspects(o);
}

void owned_close(struct owned *o)
{
    o->is_closing = true;
    timer_disarm(o->core->timers, &o->timer);
    if (o->is_asking)
        core_abandon(o->core, &o->beat);
}

bool owned_leave(struct owned *o)
{
    if (!o->owns || o->has_left || !o->is_store_up)
        return !o->is_asking;
    if (o->is_asking)
        return false;
    o->has_left = true;
    send_beat(o, true);
    return false;
}

void owned_init(struct owned *o, struct core *core)
{
    *o = (struct owned){.core = core};
    timer_init(&o->timer, on_timer);
}

void owned_fini(struct owned *o)
{
    assert(!o->is_asking && !o->round);
    timer_disarm(o->core->timers, &o->timer);
}
