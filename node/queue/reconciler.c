#include "node/queue/reconciler.h"

#include <assert.h>

#include "base/log.h"
#include "node/queue/audit_steps.h"
#include "node/queue/core.h"

#define FAIL_MS        1000  /* rest behind an answer that is none */
#define LEAVE_MS       1     /* behind one that is out of reach */
#define REST_MAX_MS    10000 /* however busy the store is */
#define BUSY_FACTOR    4     /* so many times what an answer took */
#define LIMITING_WALKS 2     /* what is left of this one, and a whole one */

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

/* ---- which step is next ---- */

static void on_done(struct op *op);

/* Of no bucket are only topics' names. */
static bool is_out_of_reach(const struct reconciler *r)
{
    return r->op.verb != OP_PLACES && core_is_away(r->core, r->op.bucket);
}

static void make_step(struct reconciler *r, enum reconciler_state state)
{
    r->op = (struct op){.on_done = on_done};
    audit_steps[state].ask(r);
    if (is_out_of_reach(r)) {
        audit_steps[state].leave(r);
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

/* Does the configuration limit its dead? */
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
        audit_steps[r->state].leave(r);
    rest(r, FAIL_MS);
}

/* While nothing is on its way: what is borrows from the walk. */
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
        rest(r, rest_ms(r, audit_steps[r->state].take(r)));
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
