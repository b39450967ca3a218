#include "node/queue/checks.h"

#include <assert.h>

#include "node/queue/queue.h"

#define ALL_STATES (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

static bool is_within(int64_t value, int64_t max)
{
    return value >= 0 && value <= max;
}

/* It is for rests that grow. */
static bool cap_is_valid(const struct backoff *backoff)
{
    return backoff->cap_ms == 0 ||
           (backoff->kind == BACKOFF_EXPONENTIAL && backoff->cap_ms >= backoff->base_ms &&
            backoff->cap_ms <= RULES_BACKOFF_MAX_MS);
}

static bool backoff_is_valid(const struct backoff *backoff)
{
    if (backoff->kind == BACKOFF_NONE)
        return !backoff->base_ms && !backoff->cap_ms && !backoff->jitter_percent;
    return (backoff->kind == BACKOFF_FIXED || backoff->kind == BACKOFF_EXPONENTIAL) &&
           backoff->base_ms > 0 && is_within(backoff->base_ms, RULES_BACKOFF_MAX_MS) &&
           cap_is_valid(backoff) && backoff->jitter_percent <= 100;
}

/* Those that are set; the others mean nothing. */
static bool settings_are_valid(const struct topic_settings *s, unsigned set)
{
    return (!(set & SETTING_BIT(TTR)) || is_within(s->ttr_ms, QUEUE_TTR_MAX_MS)) &&
           (!(set & SETTING_BIT(MAX_TRIES)) || s->max_tries <= RULES_TRIES_MAX) &&
           (!(set & SETTING_BIT(BACKOFF)) || backoff_is_valid(&s->backoff)) &&
           (!(set & SETTING_BIT(TTL)) || is_within(s->ttl_ms, QUEUE_DELAY_MAX_MS)) &&
           (!(set & SETTING_BIT(DEAD_MAX)) || is_within(s->dead_max, UINT32_MAX)) &&
           (!(set & SETTING_BIT(DEAD_AGE)) || is_within(s->dead_age_ms, QUEUE_DELAY_MAX_MS));
}

static enum status check_push(const struct op *op)
{
    const struct topic_settings given = {
        .ttr_ms = op->in.push.ttr_ms,
        .max_tries = op->in.push.rules.max_tries,
        .backoff = op->in.push.rules.backoff,
        .ttl_ms = op->in.push.ttl_ms,
    };

    if (op->id.len > 0 && !job_id_is_valid(op->id))
        return STATUS_BAD_ID;
    if (!is_within(op->in.push.delay_ms, QUEUE_DELAY_MAX_MS) ||
        !is_within(op->in.push.at_ms, QUEUE_AT_MAX_MS) || op->in.push.mode > PUSH_IGNORE ||
        !settings_are_valid(&given, op->in.push.given))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_id(const struct op *op)
{
    return job_id_is_valid(op->id) ? STATUS_OK : STATUS_BAD_ID;
}

static enum status check_lease(const struct op *op)
{
    if (!is_within(op->in.lease.stamp, JOB_STAMP_MAX) ||
        !is_within(op->in.lease.delay_ms, QUEUE_DELAY_MAX_MS) ||
        !is_within(op->in.lease.ttr_ms, QUEUE_TTR_MAX_MS))
        return STATUS_OUT_OF_RANGE;
    return check_id(op);
}

static enum status check_release(const struct op *op)
{
    struct op given = *op;

    if (op->in.lease.delay_ms == -1) /* as the job's backoff says */
        given.in.lease.delay_ms = 0;
    return check_lease(&given);
}

static enum status check_move(const struct op *op)
{
    if (!is_within(op->in.move.delay_ms, QUEUE_DELAY_MAX_MS) ||
        !is_within(op->in.move.at_ms, QUEUE_AT_MAX_MS) || op->in.move.states & ~ALL_STATES)
        return STATUS_OUT_OF_RANGE;
    return check_id(op);
}

static bool is_a_state(enum job_state state)
{
    return state >= JOB_DELAYED && state <= JOB_DEAD;
}

static bool times_are_valid(int64_t since_ms, int64_t before_ms)
{
    return is_within(since_ms, QUEUE_AT_MAX_MS) && is_within(before_ms, QUEUE_AT_MAX_MS);
}

static enum status check_chunk(const struct op *op)
{
    if (op->in.chunk.limit < 1 || op->in.chunk.limit > OP_CHUNK_MAX ||
        !times_are_valid(op->in.chunk.since_ms, op->in.chunk.before_ms) ||
        (op->verb == OP_PURGE && !is_a_state(op->in.chunk.state)))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_list(const struct op *op)
{
    if (op->in.list.limit < 1 || op->in.list.limit > OP_LIST_MAX ||
        !is_a_state(op->in.list.state) || op->in.list.after.len > OP_CURSOR_MAX)
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_configure(const struct op *op)
{
    const struct topic_settings *settings = &op->in.configure.settings;
    unsigned mask = op->in.configure.mask;

    if (mask & ~SETTINGS_ALL || !settings_are_valid(settings, settings->set & mask))
        return STATUS_OUT_OF_RANGE;
    if (op->in.configure.has_pause &&
        (!is_within(settings->paused_until_ms, SETTINGS_FOREVER) ||
         !is_within(op->in.configure.pause_ms, SETTINGS_FOREVER)))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_settings(const struct op *op)
{
    return op->in.settings.after.len > OP_CURSOR_MAX ? STATUS_OUT_OF_RANGE : STATUS_OK;
}

static enum status check_page(const struct op *op)
{
    if (op->in.topics.limit < 1 || op->in.topics.limit > OP_TOPICS_MAX)
        return STATUS_OUT_OF_RANGE;
    if (op->in.topics.after.len && !topic_name_is_valid(op->in.topics.after))
        return STATUS_BAD_TOPIC;
    return STATUS_OK;
}

static enum status check_nothing(const struct op *op)
{
    return STATUS_OK;
}

/* The operations that a protocol may submit; the others are the engine's own. */
static enum status (*const checks[OP_COUNT])(const struct op *) = {
    [OP_PUSH] = check_push,   [OP_ACK] = check_lease,           [OP_RELEASE] = check_release,
    [OP_TOUCH] = check_lease, [OP_BURY] = check_lease,          [OP_CANCEL] = check_id,
    [OP_MOVE] = check_move,   [OP_KICK] = check_chunk,          [OP_PURGE] = check_chunk,
    [OP_GET] = check_id,      [OP_LIST] = check_list,           [OP_STATS] = check_nothing,
    [OP_TOPICS] = check_page, [OP_CONFIGURE] = check_configure, [OP_SETTINGS] = check_settings,
};

bool op_is_of_a_topic(const struct op *op)
{
    return op->verb != OP_TOPICS && !(op->verb == OP_SETTINGS && op->topic.len == 0);
}

enum status check_op(const struct op *op, const struct queue_options *options, unsigned buckets)
{
    assert(op->verb < OP_COUNT && checks[op->verb]);
    if (op_is_of_a_topic(op) && !topic_name_is_valid(op->topic))
        return STATUS_BAD_TOPIC;
    if (!op_is_of_a_topic(op) && op->bucket >= buckets)
        return STATUS_OUT_OF_RANGE;
    if (op->verb == OP_PUSH && op->in.push.body.len > options->body_max_bytes)
        return STATUS_TOO_LARGE;
    return checks[op->verb](op);
}

enum status check_pop(const struct pop *pop)
{
    if (pop->topic_count < 1 || pop->topic_count > QUEUE_TOPICS_PER_POP_MAX)
        return STATUS_OUT_OF_RANGE;
    if (pop->count < 1 || pop->count > OP_ITEMS_MAX || pop->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    if (pop->has_ttr && !is_within(pop->ttr_ms, QUEUE_TTR_MAX_MS))
        return STATUS_OUT_OF_RANGE;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        if (!topic_name_is_valid(pop->topics[i]))
            return STATUS_BAD_TOPIC;
    }
    return STATUS_OK;
}

enum status check_sweep(const struct sweep *sweep)
{
    assert(sweep->verb == OP_KICK || sweep->verb == OP_PURGE);
    if (!topic_name_is_valid(sweep->topic))
        return STATUS_BAD_TOPIC;
    if (!times_are_valid(sweep->since_ms, sweep->before_ms))
        return STATUS_OUT_OF_RANGE;
    if (sweep->verb == OP_PURGE && (sweep->states == 0 || sweep->states & ~ALL_STATES))
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

enum status check_follow(const struct follow *follow)
{
    if (follow->max < 1 || follow->max > QUEUE_FOLLOW_MAX || follow->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    if (follow->topic.len && !topic_name_is_valid(follow->topic))
        return STATUS_BAD_TOPIC;
    return STATUS_OK;
}

enum status check_trace(const struct trace *trace)
{
    if (!topic_name_is_valid(trace->topic))
        return STATUS_BAD_TOPIC;
    if (!job_id_is_valid(trace->id))
        return STATUS_BAD_ID;
    if (trace->limit < 1 || trace->limit > QUEUE_TRACE_MAX)
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}
