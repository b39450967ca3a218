#include "node/queue/reconciler.h"

#include <assert.h>

#include "base/log.h"
#include "node/queue/core.h"

#define FAIL_MS      1000  /* rest behind an answer that is none */
#define REST_MAX_MS  10000 /* however busy the store is */
#define BUSY_FACTOR  4     /* so many times what an answer took */
#define NAMES_COST   25    /* at least, in jobs looked at */
#define MEND_COST    2
#define SAY_MAX      20 /* lines in SAY_EVERY_MS */
#define SAY_EVERY_MS 60000

static int64_t now_of(const struct reconciler *r)
{
    return timers_now(r->core->timers);
}

/* ---- states ---- */

static const char *const state_words[RECONCILER_STATE_COUNT] = {
    [RECONCILER_OFF] = "OFF",
    [RECONCILER_RESTING] = "RESTING",
    [RECONCILER_NAMING] = "NAMING",
    [RECONCILER_LOOKING] = "LOOKING",
    [RECONCILER_LOOKING_AGAIN] = "LOOKING_AGAIN",
    [RECONCILER_MENDING] = "MENDING",
    [RECONCILER_LEAVING] = "LEAVING",
};

static void forget(struct reconciler *r)
{
    suspects_clear(&r->suspects);
    walk_pause(&r->walk);
    r->suspect = NULL;
    r->topic = BYTES("");
    r->page_len = 0;
}

static void enter(struct reconciler *r, enum reconciler_state state)
{
    if (r->state == RECONCILER_OFF || state == RECONCILER_OFF)
        LOG_DEBUG("reconciler", "%s -> %s", state_words[r->state], state_words[state]);
    r->state = state;
    if (state == RECONCILER_OFF)
        forget(r);
    assert((state == RECONCILER_RESTING) == timer_is_armed(&r->rest));
}

static bool may_work(const struct reconciler *r)
{
    return r->is_active && r->is_store_up && !r->is_closing && r->core->options.audit_rate > 0;
}

static void rest(struct reconciler *r, int64_t ms)
{
    timer_arm(r->core->timers, &r->rest, ms);
    enter(r, RECONCILER_RESTING);
}

/* Whether it may work has perhaps changed. */
static void reconsider(struct reconciler *r)
{
    if (r->state == RECONCILER_OFF) {
        if (may_work(r))
            rest(r, RECONCILER_START_MS);
    } else if (may_work(r)) {
        return;
    } else if (r->state == RECONCILER_RESTING) {
        timer_disarm(r->core->timers, &r->rest);
        enter(r, RECONCILER_OFF);
    } else {
        enter(r, RECONCILER_LEAVING);
    }
}

/* ---- the log ---- */

static void say_the_rest(struct reconciler *r)
{
    if (r->unsaid > 0)
        LOG_WARN("reconciler", "repaired %u more that are not named here", r->unsaid);
    r->said = r->unsaid = 0;
    r->said_since_mono_ms = now_of(r);
}

static void say_the_rest_in_time(struct reconciler *r)
{
    if (now_of(r) - r->said_since_mono_ms >= SAY_EVERY_MS)
        say_the_rest(r);
}

static void say(struct reconciler *r, enum damage damage)
{
    const struct suspected *s = r->suspect;

    say_the_rest_in_time(r);
    if (r->said >= SAY_MAX) {
        r->unsaid++;
        return;
    }
    r->said++;
    if (s->id.len)
        LOG_WARN("reconciler", "repaired job %.*s of topic %.*s: %s", BYTES_ARG(s->id),
                 BYTES_ARG(s->topic), damage_word(damage));
    else
        LOG_WARN("reconciler", "repaired topic %.*s: %s", BYTES_ARG(s->topic),
                 damage_word(damage));
}

/* ---- one step ---- */

static void on_done(struct op *op);

static void send(struct reconciler *r, enum reconciler_state state, enum op_verb verb,
                 struct bytes topic, struct bytes after)
{
    r->op = (struct op){.verb = verb, .on_done = on_done, .topic = topic};
    r->op.bucket = topic.len ? core_bucket_of(r->core, topic) : 0;
    r->op.in.places.after = after;
    enter(r, state);
    core_send(r->core, &r->op);
}

static void name_topics(struct reconciler *r)
{
    struct bytes after = walk_after(&r->walk);

    if (after.len == 0)
        r->next_walk_mono_ms = now_of(r) + RECONCILER_WALK_MS;
    send(r, RECONCILER_NAMING, OP_PLACES, BYTES(""), after);
}

static void look(struct reconciler *r)
{
    send(r, RECONCILER_LOOKING, OP_AUDIT, r->topic, bytes_of(r->page, r->page_len));
}

static void look_again(struct reconciler *r, struct suspected *s)
{
    r->suspect = s;
    send(r, RECONCILER_LOOKING_AGAIN, OP_AUDIT, s->topic, s->page);
}

static void mend(struct reconciler *r, struct suspected *s)
{
    r->suspect = s;
    r->op = (struct op){.verb = OP_REPAIR, .on_done = on_done, .topic = s->topic, .id = s->id};
    r->op.bucket = core_bucket_of(r->core, s->topic);
    enter(r, RECONCILER_MENDING);
    core_send(r->core, &r->op);
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return b_ms >= 0 && b_ms < a_ms ? b_ms : a_ms;
}

static void walk_on(struct reconciler *r)
{
    int64_t wait_ms = r->walk_at_mono_ms - now_of(r);

    if (r->topic.len > 0)
        look(r);
    else if (wait_ms > 0)
        rest(r, sooner(wait_ms, suspects_wait_ms(&r->suspects, now_of(r))));
    else
        name_topics(r);
}

static void on_rested(struct timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, rest);
    struct suspected *sure = suspects_find_sure(&r->suspects);
    struct suspected *rested = suspects_find_rested(&r->suspects, now_of(r));

    if (sure)
        mend(r, sure);
    else if (rested)
        look_again(r, rested);
    else
        walk_on(r);
}

/* ---- what came of it: how many jobs' worth of looking it was ---- */

static void end_walk(struct reconciler *r)
{
    r->core->stats.audit_walks++;
    r->walk_at_mono_ms = r->next_walk_mono_ms;
    say_the_rest_in_time(r);
}

static void go_to_next_topic(struct reconciler *r)
{
    r->page_len = 0;
    if (walk_next_topic(&r->walk, &r->topic))
        return;
    r->topic = BYTES("");
    if (!walk_turn_page(&r->walk))
        end_walk(r);
}

static unsigned take_names(struct reconciler *r)
{
    unsigned count = r->op.out.places.count;

    walk_take_page(&r->walk, &r->op);
    go_to_next_topic(r);
    return count > NAMES_COST ? count : NAMES_COST;
}

/* All that the page shows. */
static unsigned see(struct reconciler *r)
{
    const struct op *op = &r->op;
    struct queue_stats *stats = &r->core->stats;

    stats->audited += op->out.audit.looked_at;
    for (unsigned i = 0; i < op->out.audit.count; i++)
        stats->suspects += suspects_see(&r->suspects, op->topic, op->out.audit.items[i].id,
                                        op->in.places.after, now_of(r));
    return op->out.audit.looked_at + 1;
}

static unsigned take_page(struct reconciler *r)
{
    struct bytes next = r->op.out.audit.next;
    unsigned cost = see(r);

    if (next.len == 0 || next.len > sizeof(r->page)) {
        go_to_next_topic(r);
    } else {
        memcpy(r->page, next.at, next.len);
        r->page_len = next.len;
    }
    return cost;
}

static unsigned take_second_look(struct reconciler *r)
{
    unsigned cost = see(r);

    if (!r->suspect->is_sure)
        suspects_doubt(&r->suspects, r->suspect);
    return cost;
}

static unsigned take_repair(struct reconciler *r)
{
    enum damage damage = r->op.out.repair.damage;

    if (damage != DAMAGE_NONE) {
        r->core->stats.repaired[damage]++;
        say(r, damage);
    }
    suspects_forget(&r->suspects, r->suspect);
    return MEND_COST;
}

static unsigned (*const takers[RECONCILER_STATE_COUNT])(struct reconciler *r) = {
    [RECONCILER_NAMING] = take_names,
    [RECONCILER_LOOKING] = take_page,
    [RECONCILER_LOOKING_AGAIN] = take_second_look,
    [RECONCILER_MENDING] = take_repair,
};

/* ---- or nothing came of it. What does not pass by itself is left to the next walk ---- */

static void leave_walk(struct reconciler *r)
{
    walk_begin_anew(&r->walk);
    r->walk_at_mono_ms = r->next_walk_mono_ms;
}

static void leave_suspect(struct reconciler *r)
{
    suspects_forget(&r->suspects, r->suspect);
}

static void (*const leavers[RECONCILER_STATE_COUNT])(struct reconciler *r) = {
    [RECONCILER_NAMING] = leave_walk,
    [RECONCILER_LOOKING] = go_to_next_topic,
    [RECONCILER_LOOKING_AGAIN] = leave_suspect,
    [RECONCILER_MENDING] = leave_suspect,
};

static void fail(struct reconciler *r)
{
    enum status status = r->op.status;

    LOG_DEBUG("reconciler", "%s: %s", op_word(r->op.verb), status_text(status));
    if (status != STATUS_UNAVAILABLE && !status_is_unknown(status))
        leavers[r->state](r);
    rest(r, FAIL_MS);
}

static int64_t rest_ms(const struct reconciler *r, unsigned cost)
{
    int64_t rate = r->core->options.audit_rate;
    int64_t by_rate_ms = ((int64_t)cost * 1000 + rate - 1) / rate;
    int64_t by_load_ms = BUSY_FACTOR * (now_of(r) - r->op.sent_mono_ms);

    by_load_ms = by_load_ms < REST_MAX_MS ? by_load_ms : REST_MAX_MS;
    return by_rate_ms > by_load_ms ? by_rate_ms : by_load_ms;
}

static void on_done(struct op *op)
{
    struct reconciler *r = CONTAINER_OF(op, struct reconciler, op);

    if (!may_work(r))
        enter(r, RECONCILER_OFF);
    else if (r->state == RECONCILER_LEAVING)
        rest(r, RECONCILER_START_MS);
    else if (op->status != STATUS_OK)
        fail(r);
    else
        rest(r, rest_ms(r, takers[r->state](r)));
}

/* ---- what the queue calls ---- */

void reconciler_set_active(struct reconciler *r, bool is_active)
{
    r->is_active = is_active;
    reconsider(r);
}

void reconciler_set_store(struct reconciler *r, bool is_up)
{
    r->is_store_up = is_up;
    reconsider(r);
}

void reconciler_reload(struct reconciler *r)
{
    reconsider(r);
}

void reconciler_close(struct reconciler *r)
{
    r->is_closing = true;
    reconsider(r);
}

void reconciler_init(struct reconciler *r, struct core *core)
{
    *r = (struct reconciler){.core = core, .said_since_mono_ms = -SAY_EVERY_MS};
    walk_init(&r->walk);
    suspects_init(&r->suspects);
    timer_init(&r->rest, on_rested);
}

void reconciler_fini(struct reconciler *r)
{
    reconciler_close(r);
    assert(r->state == RECONCILER_OFF);
}
