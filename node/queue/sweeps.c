#include "node/queue/sweeps.h"

#include <assert.h>

#include "node/queue/core.h"

#define REST_MAX_MS 100

/* ---- its end ---- */

static void end(struct sweep *sweep, enum status status)
{
    list_remove(&sweep->link);
    sweep->sweeps->running_count--;
    sweep->status = status;
    sweep->on_done(sweep);
}

static void tell_refused(struct later *refused, struct list *link)
{
    struct core *core = CONTAINER_OF(refused, struct sweeps, refused)->core;
    struct sweep *sweep = CONTAINER_OF(link, struct sweep, link);

    sweep->on_done(sweep);
    core_note_end(core);
}

/* ---- state after state ---- */

static void on_counted(struct op *op);
static void on_chunk(struct op *op);

static enum job_state first_state(const struct sweep *sweep, enum job_state from)
{
    bool is_plain_kick = sweep->verb == OP_KICK && sweep->states == 0;
    unsigned states = is_plain_kick ? 1u << JOB_DEAD : sweep->states;
    enum job_state state = from;

    while (state <= JOB_DEAD && !(states & 1u << state))
        state++;
    return state;
}

static void prepare(struct sweep *sweep, enum op_verb verb, void (*on_done)(struct op *op))
{
    sweep->op.verb = verb;
    sweep->op.on_done = on_done;
    sweep->op.topic = sweep->topic;
    sweep->op.client = sweep->client;
    sweep->op.bucket = core_bucket_of(sweep->sweeps->core, sweep->topic);
}

static void send_chunk(struct sweep *sweep)
{
    prepare(sweep, sweep->verb, on_chunk);
    sweep->op.in.chunk.limit = sweep->left < SWEEP_CHUNK ? (unsigned)sweep->left : SWEEP_CHUNK;
    core_send(sweep->sweeps->core, &sweep->op);
}

/* Goes on with `from`, or the next state the sweep is about; or ends. */
static void go_on(struct sweep *sweep, enum job_state from)
{
    enum job_state state = first_state(sweep, from);

    if (state > JOB_DEAD) {
        end(sweep, STATUS_OK);
        return;
    }
    sweep->op.in.chunk.state = state;
    sweep->op.in.chunk.since_ms = state == JOB_DEAD ? sweep->since_ms : 0;
    sweep->op.in.chunk.before_ms = state == JOB_DEAD ? sweep->before_ms : 0;
    sweep->op.in.chunk.ttl_ms = state == JOB_DEAD ? sweep->ttl_ms : 0;
    sweep->op.in.chunk.tries = state == JOB_DEAD ? sweep->tries : 0;
    if (sweep->limit > 0) {
        send_chunk(sweep);
        return;
    }
    prepare(sweep, OP_STATS, on_counted);
    core_send(sweep->sweeps->core, &sweep->op);
}

static void go_on_behind(struct sweep *sweep)
{
    go_on(sweep, sweep->op.in.chunk.state + 1);
}

static int64_t count_of(const struct topic_stats *stats, enum job_state state)
{
    const int64_t counts[] = {
        [JOB_DELAYED] = stats->delayed,
        [JOB_READY] = stats->ready,
        [JOB_RESERVED] = stats->reserved,
        [JOB_DEAD] = stats->dead,
    };

    return counts[state];
}

static enum status judge(const struct sweep *sweep)
{
    return sweep->op.status == STATUS_OK && sweep->is_cancelled ? STATUS_CANCELLED
                                                                : sweep->op.status;
}

static void on_counted(struct op *op)
{
    struct sweep *sweep = CONTAINER_OF(op, struct sweep, op);
    enum status status = judge(sweep);

    if (status != STATUS_OK) {
        end(sweep, status);
        return;
    }
    sweep->left = (uint64_t)count_of(&op->out.stats, op->in.chunk.state);
    if (sweep->left > 0)
        send_chunk(sweep);
    else
        go_on_behind(sweep);
}

static void on_rested(struct timer *timer)
{
    struct sweep *sweep = CONTAINER_OF(timer, struct sweep, rest);
    struct core *core = sweep->sweeps->core;

    if (!sweep->is_cancelled) {
        send_chunk(sweep);
        return;
    }
    end(sweep, STATUS_CANCELLED);
    core_note_end(core);
}

static void rest(struct sweep *sweep)
{
    struct timers *timers = sweep->sweeps->core->timers;
    int64_t took_ms = timers_now(timers) - sweep->op.sent_mono_ms;

    timer_arm(timers, &sweep->rest, took_ms < REST_MAX_MS ? took_ms : REST_MAX_MS);
}

static void count_chunk(struct sweep *sweep)
{
    unsigned count = sweep->op.out.chunk.count;

    sweep->count += count;
    sweep->left -= count < sweep->left ? count : sweep->left;
}

/* Is there a job in a state that comes after this one? */
static bool has_some_left(const struct sweep *sweep, const struct topic_stats *stats)
{
    enum job_state state = sweep->op.in.chunk.state;

    while ((state = first_state(sweep, state + 1)) <= JOB_DEAD) {
        if (count_of(stats, state) > 0)
            return true;
    }
    return false;
}

/* The sweep has done its work: a failed count of what is left must not spoil its answer. */
static void on_counted_rest(struct op *op)
{
    struct sweep *sweep = CONTAINER_OF(op, struct sweep, op);

    sweep->has_more = op->status != STATUS_OK || has_some_left(sweep, &op->out.stats);
    end(sweep, sweep->is_cancelled ? STATUS_CANCELLED : STATUS_OK);
}

static void end_at_limit(struct sweep *sweep, bool has_more)
{
    if (!has_more && first_state(sweep, sweep->op.in.chunk.state + 1) <= JOB_DEAD) {
        prepare(sweep, OP_STATS, on_counted_rest);
        core_send(sweep->sweeps->core, &sweep->op);
        return;
    }
    sweep->has_more = has_more;
    end(sweep, STATUS_OK);
}

static void on_chunk(struct op *op)
{
    struct sweep *sweep = CONTAINER_OF(op, struct sweep, op);
    bool has_more = op->status == STATUS_OK && op->out.chunk.has_more;
    enum status status = judge(sweep);

    if (op->status == STATUS_OK)
        count_chunk(sweep);
    if (status != STATUS_OK) {
        end(sweep, status);
    } else if (sweep->limit > 0 && sweep->left == 0) {
        end_at_limit(sweep, has_more);
    } else if (has_more && sweep->left > 0) {
        rest(sweep);
    } else {
        go_on_behind(sweep);
    }
}

/* ---- what the queue calls ---- */

static void take_in(struct sweeps *ss, struct sweep *sweep)
{
    sweep->sweeps = ss;
    sweep->count = 0;
    sweep->has_more = false;
    sweep->is_cancelled = false;
    sweep->op = (struct op){.on_done = NULL};
    sweep->left = sweep->limit;
    list_init(&sweep->link);
    timer_init(&sweep->rest, on_rested);
}

void sweeps_begin(struct sweeps *ss, struct sweep *sweep)
{
    if (ss->running_count >= SWEEPS_MAX) {
        sweeps_refuse(ss, sweep, STATUS_TOO_MANY_SWEEPS);
        return;
    }
    take_in(ss, sweep);
    list_append(&ss->running, &sweep->link);
    ss->running_count++;
    go_on(sweep, JOB_DELAYED);
}

void sweeps_refuse(struct sweeps *ss, struct sweep *sweep, enum status status)
{
    take_in(ss, sweep);
    sweep->status = status;
    later_add(&ss->refused, &sweep->link);
}

void queue_sweep_cancel(struct sweep *sweep)
{
    sweep->is_cancelled = true;
    sweep->status = STATUS_CANCELLED; /* of one that was refused */
    core_abandon(sweep->sweeps->core, &sweep->op);
}

void sweeps_cancel_all(struct sweeps *ss)
{
    LIST_EACH (link, &ss->running)
        queue_sweep_cancel(CONTAINER_OF(link, struct sweep, link));
}

bool sweeps_are_idle(const struct sweeps *ss)
{
    return ss->running_count == 0 && later_is_idle(&ss->refused);
}

void sweeps_init(struct sweeps *ss, struct core *core)
{
    *ss = (struct sweeps){.core = core};
    list_init(&ss->running);
    later_init(&ss->refused, core->timers, tell_refused);
}

void sweeps_fini(struct sweeps *ss)
{
    assert(list_is_empty(&ss->running));
    later_fini(&ss->refused);
}
