#include "node/queue/checks.h"

#include <assert.h>

#include "node/queue/names.h"

static bool is_within(int64_t value, int64_t max)
{
    return value >= 0 && value <= max;
}

static enum status check_push(const struct op *op)
{
    if (op->id.len > 0 && !job_id_is_valid(op->id))
        return STATUS_BAD_ID;
    if (!is_within(op->in.push.delay_ms, QUEUE_DELAY_MAX_MS) ||
        !is_within(op->in.push.at_ms, QUEUE_AT_MAX_MS) ||
        !is_within(op->in.push.ttr_ms, QUEUE_TTR_MAX_MS))
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
    [OP_PUSH] = check_push,     [OP_ACK] = check_lease,   [OP_RELEASE] = check_lease,
    [OP_TOUCH] = check_lease,   [OP_CANCEL] = check_id,   [OP_GET] = check_id,
    [OP_STATS] = check_nothing, [OP_TOPICS] = check_page,
};

bool op_is_of_a_topic(const struct op *op)
{
    return op->verb != OP_TOPICS;
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

enum status check_follow(const struct follow *follow)
{
    if (follow->max < 1 || follow->max > QUEUE_FOLLOW_MAX || follow->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    if (follow->topic.len && !topic_name_is_valid(follow->topic))
        return STATUS_BAD_TOPIC;
    return STATUS_OK;
}
