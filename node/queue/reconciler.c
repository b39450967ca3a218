#include "node/queue/reconciler.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/queue.h"

#define FAIL_MS        1000  /* rest after a failure */
#define LEAVE_MS       1     /* rest after a bucket that is out of reach */
#define REST_MAX_MS    10000 /* however busy the store is */
#define BUSY_FACTOR    4     /* so many times what an answer took */
#define LIMITING_WALKS 2     /* what is left of this one, and a whole one */
#define NAMES_COST     25    /* at least, in jobs looked at */
#define MEND_COST      2
#define LIMIT_COST     2

static int64_t now_of(const struct reconciler *r)
{
    return timers_now(r->core->timers);
}

/* ---- the steps ----
 *
 * One row of the table for each state from NAMING to LIMITING. A step fills in the operation
 * (ask), takes its answer and moves the walk on (take), or, after a failure that does not pass
 * by itself, leaves its subject to the next walk (leave).
 *
 * To add a step: a state in reconciler.h, a row here, and where it is chosen below. */

struct step {
    void (*ask)(struct reconciler *r);
    unsigned (*take)(struct reconciler *r); /* returns its cost, in jobs looked at */
    void (*leave)(struct reconciler *r);
};

static void ask_of(struct reconciler *r, enum op_verb verb, struct bytes topic)
{
    r->op.verb = verb;
    r->op.topic = topic;
    r->op.bucket = topic.len ? core_bucket_of(r->core, topic) : 0;
}

/* ---- where the walk goes on ---- */

static void end_walk(struct reconciler *r)
{
    r->core->stats.audit_walks++;
    r->walk_at_mono_ms = r->next_walk_mono_ms;
    if (r->limiting_walks > 0)
        r->limiting_walks--;
    repair_log_tick(&r->log, now_of(r));
}

static void go_to_next_topic(struct reconciler *r)
{
    r->page_len = 0;
    r->is_limited = false;
    if (walk_next_topic(&r->walk, &r->topic))
        return;
    r->topic = BYTES("");
    if (!walk_turn_page(&r->walk))
        end_walk(r);
}

/* ---- NAMING: topics' names ---- */

static void ask_names(struct reconciler *r)
{
    struct bytes after = walk_after(&r->walk);

    if (after.len == 0)
        r->next_walk_mono_ms = now_of(r) + RECONCILER_WALK_MS;
    ask_of(r, OP_PLACES, BYTES(""));
    r->op.in.places.after = after;
}

static unsigned take_names(struct reconciler *r)
{
    unsigned count = r->op.out.places.count;

    walk_take_page(&r->walk, &r->op);
    go_to_next_topic(r);
    return count > NAMES_COST ? count : NAMES_COST;
}

static void leave_walk(struct reconciler *r)
{
    walk_begin_anew(&r->walk);
    r->walk_at_mono_ms = r->next_walk_mono_ms;
}

/* ---- LOOKING: at a page of the topic ---- */

static void ask_page(struct reconciler *r)
{
    ask_of(r, OP_AUDIT, r->topic);
    r->op.in.places.after = bytes_of(r->page, r->page_len);
}

/* Notes all suspects of the page. */
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

/* ---- LOOKING_AGAIN: at a suspect's page ---- */

static void ask_suspects_page(struct reconciler *r)
{
    ask_of(r, OP_AUDIT, r->suspect->topic);
    r->op.in.places.after = r->suspect->page;
}

static unsigned take_second_look(struct reconciler *r)
{
    unsigned cost = see(r);

    if (!r->suspect->is_sure)
        suspects_doubt(&r->suspects, r->suspect);
    return cost;
}

static void leave_suspect(struct reconciler *r)
{
    suspects_forget(&r->suspects, r->suspect);
}

/* ---- MENDING: a suspect that is sure ---- */

static void ask_repair(struct reconciler *r)
{
    ask_of(r, OP_REPAIR, r->suspect->topic);
    r->op.id = r->suspect->id;
}

static void note_repair(struct reconciler *r)
{
    enum damage damage = r->op.out.repair.damage;

    if (damage == DAMAGE_NONE)
        return;
    r->core->stats.repaired[damage]++;
    repair_log_say(&r->log, r->op.topic, r->op.id, damage, now_of(r));
}

static unsigned take_repair(struct reconciler *r)
{
    note_repair(r);
    suspects_forget(&r->suspects, r->suspect);
    return MEND_COST;
}

/* ---- LIMITING: a topic whose dead the configuration limits. The scan does it, by its rules
 * ---- */

static void ask_scan(struct reconciler *r)
{
    ask_of(r, OP_REPAIR, r->topic);
    r->op.in.repair.calls_scan = true;
}

static unsigned take_limiting(struct reconciler *r)
{
    note_repair(r);
    r->is_limited = true;
    return LIMIT_COST;
}

static void leave_unlimited(struct reconciler *r)
{
    r->is_limited = true;
}

static const struct step steps[RECONCILER_STATE_COUNT] = {
    [RECONCILER_NAMING] = {ask_names, take_names, leave_walk},
    [RECONCILER_LOOKING] = {ask_page, take_page, go_to_next_topic},
    [RECONCILER_LOOKING_AGAIN] = {ask_suspects_page, take_second_look, leave_suspect},
    [RECONCILER_MENDING] = {ask_repair, take_repair, leave_suspect},
    [RECONCILER_LIMITING] = {ask_scan, take_limiting, leave_unlimited},
};

/* ---- states ---- */

static const char *const state_words[RECONCILER_STATE_COUNT] = {
    [RECONCILER_OFF] = "OFF",
    [RECONCILER_RESTING] = "RESTING",
    [RECONCILER_NAMING] = "NAMING",
    [RECONCILER_LOOKING] = "LOOKING",
    [RECONCILER_LOOKING_AGAIN] = "LOOKING_AGAIN",
    [RECONCILER_MENDING] = "MENDING",
    [RECONCILER_LIMITING] = "LIMITING",
    [RECONCILER_LEAVING] = "LEAVING",
};

static void forget(struct reconciler *r)
{
    suspects_clear(&r->suspects);
    walk_pause(&r->walk);
    r->suspect = NULL;
    r->topic = BYTES("");
    r->page_len = 0;
    r->is_limited = false;
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

/* Whether the reconciler may work has perhaps changed. */
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

/* ---- which step is next ---- */

static void on_done(struct op *op);

static void make_step(struct reconciler *r, enum reconciler_state state)
{
    r->op = (struct op){.on_done = on_done};
    steps[state].ask(r);
    /* Only the read of topics' names is of no bucket. */
    if (r->op.verb != OP_PLACES && core_is_away(r->core, r->op.bucket)) {
        steps[state].leave(r);
        rest(r, LEAVE_MS);
        return;
    }
    if (op_leads(&r->op) && !core_may_act(r->core)) {
        rest(r, FAIL_MS);
        return;
    }
    r->op.token = r->core->token;
    enter(r, state);
    core_send(r->core, &r->op);
}

/* Does the configuration limit the topic's dead? */
static bool has_limits(const struct reconciler *r)
{
    const struct queue_options *options = &r->core->options;
    struct topic_settings limits = {0};

    for (unsigned i = 0; i < options->rule_count; i++) {
        if (settings_rule_matches(&options->rules[i], r->topic))
            settings_fill(&limits, &options->rules[i].settings);
    }
    return limits.dead_max > 0 || limits.dead_age_ms > 0;
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return b_ms >= 0 && b_ms < a_ms ? b_ms : a_ms;
}

static void walk_on(struct reconciler *r)
{
    int64_t wait_ms = r->walk_at_mono_ms - now_of(r);

    if (r->topic.len > 0 && r->limiting_walks > 0 && !r->is_limited && has_limits(r))
        make_step(r, RECONCILER_LIMITING);
    else if (r->topic.len > 0)
        make_step(r, RECONCILER_LOOKING);
    else if (wait_ms > 0)
        rest(r, sooner(wait_ms, suspects_wait_ms(&r->suspects, now_of(r))));
    else
        make_step(r, RECONCILER_NAMING);
}

static void on_rested(struct timer *timer)
{
    struct reconciler *r = CONTAINER_OF(timer, struct reconciler, rest);
    struct suspected *sure = suspects_find_sure(&r->suspects);
    struct suspected *rested = suspects_find_rested(&r->suspects, now_of(r));

    r->suspect = sure ? sure : rested;
    if (sure)
        make_step(r, RECONCILER_MENDING);
    else if (rested)
        make_step(r, RECONCILER_LOOKING_AGAIN);
    else
        walk_on(r);
}

/* ---- its answer, and the rest behind it ---- */

static int64_t rest_ms(const struct reconciler *r, unsigned cost)
{
    int64_t rate = r->core->options.audit_rate;
    int64_t by_rate_ms = ((int64_t)cost * 1000 + rate - 1) / rate;
    int64_t by_load_ms = BUSY_FACTOR * (now_of(r) - r->op.sent_mono_ms);

    by_load_ms = by_load_ms < REST_MAX_MS ? by_load_ms : REST_MAX_MS;
    return by_rate_ms > by_load_ms ? by_rate_ms : by_load_ms;
}

static void fail(struct reconciler *r)
{
    enum status status = r->op.status;

    LOG_DEBUG("reconciler", "%s: %s", op_word(r->op.verb), status_text(status));
    if (status != STATUS_UNAVAILABLE && !status_is_unknown(status))
        steps[r->state].leave(r);
    rest(r, FAIL_MS);
}

/* Only while nothing is on its way: an operation borrows from the walk. */
static void begin_anew(struct reconciler *r)
{
    forget(r);
    walk_begin_anew(&r->walk);
    r->walk_at_mono_ms = now_of(r);
    r->is_to_begin_anew = false;
    if (r->state != RECONCILER_RESTING)
        return;
    timer_disarm(r->core->timers, &r->rest);
    rest(r, 0);
}

static void go_on(struct reconciler *r)
{
    struct op *op = &r->op;

    if (!may_work(r))
        enter(r, RECONCILER_OFF);
    else if (r->state == RECONCILER_LEAVING)
        rest(r, RECONCILER_START_MS);
    else if (op->status != STATUS_OK)
        fail(r);
    else
        rest(r, rest_ms(r, steps[r->state].take(r)));
}

static void on_done(struct op *op)
{
    struct reconciler *r = CONTAINER_OF(op, struct reconciler, op);

    go_on(r);
    if (r->is_to_begin_anew)
        begin_anew(r);
}

/* ---- what the queue calls ---- */

void reconciler_set_active(struct reconciler *r, bool is_active)
{
    r->is_active = is_active;
    if (is_active)
        r->limiting_walks = LIMITING_WALKS;
    reconsider(r);
}

void reconciler_set_store(struct reconciler *r, bool is_up)
{
    r->is_store_up = is_up;
    reconsider(r);
}

void reconciler_begin_anew(struct reconciler *r)
{
    if (r->state == RECONCILER_OFF || r->state == RECONCILER_RESTING)
        begin_anew(r);
    else
        r->is_to_begin_anew = true;
}

void reconciler_reload(struct reconciler *r)
{
    r->limiting_walks = LIMITING_WALKS;
    reconsider(r);
}

void reconciler_close(struct reconciler *r)
{
    r->is_closing = true;
    reconsider(r);
}

void reconciler_init(struct reconciler *r, struct core *core)
{
    *r = (struct reconciler){.core = core};
    repair_log_init(&r->log);
    walk_init(&r->walk);
    suspects_init(&r->suspects);
    timer_init(&r->rest, on_rested);
}

void reconciler_fini(struct reconciler *r)
{
    reconciler_close(r);
    assert(r->state == RECONCILER_OFF);
}
