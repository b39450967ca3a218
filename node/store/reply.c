#include "node/store/reply.h"

#include <limits.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define HEAD 3 /* code, now, wait */

/* The codes of lua/common.lua. */
static const enum status codes[] = {
    STATUS_OK,           STATUS_DUPLICATE, STATUS_NOT_FOUND,
    STATUS_NOT_RESERVED, STATUS_NOT_OWNER, STATUS_OUT_OF_RANGE,
};

#define CODES (sizeof(codes) / sizeof(*codes))

/* ---- elements ---- */

static bool take_number(const redisReply *reply, size_t i, int64_t min, int64_t max,
                        int64_t *number)
{
    const redisReply *element = i < reply->elements ? reply->element[i] : NULL;

    if (!element || element->type != REDIS_REPLY_INTEGER)
        return false;
    if (element->integer < min || element->integer > max)
        return false;
    *number = element->integer;
    return true;
}

static bool take_unsigned(const redisReply *reply, size_t i, unsigned max, unsigned *number)
{
    int64_t wide;

    if (!take_number(reply, i, 0, max, &wide))
        return false;
    *number = (unsigned)wide;
    return true;
}

static bool take_bytes(const redisReply *reply, size_t i, struct bytes *bytes)
{
    const redisReply *element = i < reply->elements ? reply->element[i] : NULL;

    if (!element || element->type != REDIS_REPLY_STRING)
        return false;
    *bytes = bytes_of(element->str, element->len);
    return true;
}

/* A job's value, and where it is big the body behind it. Moves `i` to what follows. */
static bool take_job(const redisReply *reply, size_t *i, struct job *job)
{
    struct bytes value;

    if (!take_bytes(reply, (*i)++, &value) || job_unpack(value, job) != STATUS_OK)
        return false;
    if (value.at[0] & JOB_FLAG_BIG)
        return job->body.len == 0 && take_bytes(reply, (*i)++, &job->body);
    return true;
}

/* ---- the verbs: from the fourth element on ---- */

static bool take_push(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct bytes id = op->id;
    int64_t due_ms;

    if (!take_number(reply, HEAD, 0, INT64_MAX, &due_ms))
        return false;
    if (id.len == 0 && (!take_bytes(reply, HEAD + 1, &id) || id.len == 0))
        return false;
    op->out.push.id = id;
    op->out.push.due_ms = due_ms;
    return true;
}

static bool take_pop(const redisReply *reply, struct op *op, struct reply_room *room)
{
    unsigned more, count = 0;

    if (!take_unsigned(reply, HEAD, 1, &more))
        return false;
    for (size_t i = HEAD + 1; i < reply->elements; count++) {
        struct job *job = &room->jobs[count];

        if (count == op->in.pop.count || count == OP_ITEMS_MAX)
            return false;
        if (!take_bytes(reply, i++, &job->id) || !take_job(reply, &i, job))
            return false;
        if (job->state != JOB_RESERVED)
            return false;
    }
    op->out.pop.jobs = room->jobs;
    op->out.pop.count = count;
    op->out.pop.has_more = more;
    return true;
}

static bool take_stale(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_unsigned(reply, HEAD, op->in.leases.count, &op->out.leases.stale);
}

static bool take_nothing(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return true;
}

static bool take_get(const redisReply *reply, struct op *op, struct reply_room *room)
{
    struct job job;
    size_t i = HEAD;

    if (!take_job(reply, &i, &job))
        return false;
    job.id = op->id;
    op->out.row.job = job;
    return true;
}

#define STATS_NUMBERS 6

static bool take_topic_stats(const redisReply *reply, size_t from, struct topic_stats *stats)
{
    struct topic_stats taken;

    if (!take_number(reply, from, 0, INT64_MAX, &taken.delayed) ||
        !take_number(reply, from + 1, 0, INT64_MAX, &taken.ready) ||
        !take_number(reply, from + 2, 0, INT64_MAX, &taken.reserved) ||
        !take_number(reply, from + 3, 0, INT64_MAX, &taken.dead) ||
        !take_number(reply, from + 4, -1, INT64_MAX, &taken.oldest_ready_ms) ||
        !take_number(reply, from + 5, -1, INT64_MAX, &taken.next_due_ms))
        return false;
    *stats = taken;
    return true;
}

static bool take_stats(const redisReply *reply, struct op *op, struct reply_room *room)
{
    return take_topic_stats(reply, HEAD, &op->out.stats);
}

static bool take_topics(const redisReply *reply, struct op *op, struct reply_room *room)
{
    unsigned count = 0;
    struct bytes next;
    int64_t total;

    if (!take_number(reply, HEAD, 0, INT64_MAX, &total) || !take_bytes(reply, HEAD + 1, &next))
        return false;
    for (size_t i = HEAD + 2; i < reply->elements; i += 1 + STATS_NUMBERS) {
        struct topic_count *row = &room->topics[count];

        if (count++ == op->in.topics.limit || !take_bytes(reply, i, &row->topic) ||
            !take_topic_stats(reply, i + 1, &row->stats))
            return false;
    }
    op->out.topics.rows = room->topics;
    op->out.topics.count = count;
    op->out.topics.next = next;
    op->out.topics.total = total;
    return true;
}

static bool take_scan(const redisReply *reply, struct op *op, struct reply_room *room)
{
    unsigned moved, expired, late, stuck;
    struct bytes wrong;
    int64_t next_ms;

    if (!take_unsigned(reply, HEAD, REPLY_ITEMS_MAX, &moved) ||
        !take_unsigned(reply, HEAD + 1, moved, &expired) ||
        !take_number(reply, HEAD + 2, -1, INT64_MAX, &next_ms) ||
        !take_unsigned(reply, HEAD + 3, REPLY_ITEMS_MAX, &stuck) ||
        !take_bytes(reply, HEAD + 4, &wrong))
        return false;
    late = moved - expired;
    if (reply->elements != HEAD + 5 + late)
        return false;
    for (unsigned i = 0; i < late; i++) {
        if (!take_number(reply, HEAD + 5 + i, 0, INT64_MAX, &room->lateness_ms[i]))
            return false;
    }
    op->out.scan.moved = moved;
    op->out.scan.expired = expired;
    op->out.scan.next_ms = next_ms;
    op->out.scan.stuck = stuck;
    op->out.scan.wrong = wrong;
    op->out.scan.lateness_ms = room->lateness_ms;
    op->out.scan.lateness_count = late;
    return true;
}

static const struct row {
    bool (*take)(const redisReply *, struct op *, struct reply_room *);
    bool is_read;
} rows[OP_COUNT] = {
    [OP_PUSH] = {take_push, false},
    [OP_POP] = {take_pop, false},
    [OP_DELIVERED] = {take_stale, false},
    [OP_KEEP] = {take_stale, false},
    [OP_RETURN] = {take_stale, false},
    [OP_ACK] = {take_nothing, false},
    [OP_RELEASE] = {take_nothing, false},
    [OP_TOUCH] = {take_nothing, false},
    [OP_CANCEL] = {take_nothing, false},
    [OP_GET] = {take_get, true},
    [OP_STATS] = {take_stats, true},
    [OP_TOPICS] = {take_topics, true},
    [OP_OWNER] = {NULL, true},
    [OP_SCAN] = {take_scan, false},
};

/* ---- whole answers ---- */

static enum reply_meaning malformed(struct op *op)
{
    op->status = rows[op->verb].is_read ? STATUS_STORE_ERROR : STATUS_UNKNOWN;
    return REPLY_MALFORMED;
}

static enum reply_meaning decode_error(const redisReply *reply, struct op *op)
{
    if (reply->len >= 8 && !memcmp(reply->str, "NOSCRIPT", 8))
        return REPLY_NO_SCRIPT;
    op->status = STATUS_STORE_ERROR;
    return REPLY_REFUSED;
}

/* The plain HGET: nil, or the stamp and the topic. */
static enum reply_meaning decode_owner(const redisReply *reply, struct op *op)
{
    if (reply->type == REDIS_REPLY_NIL) {
        op->status = STATUS_NOT_FOUND;
    } else if (reply->type == REDIS_REPLY_STRING && reply->len > 6) {
        int64_t stamp = 0;

        for (unsigned i = 0; i < 6; i++)
            stamp = stamp << 8 | (uint8_t)reply->str[i];
        op->out.owner.topic = bytes_of(reply->str + 6, reply->len - 6);
        op->out.owner.stamp = stamp;
        op->status = STATUS_OK;
    } else {
        return malformed(op);
    }
    op->now_ms = 0;
    op->wait_ms = -1;
    return REPLY_DONE;
}

/* A pop that met nothing but tombstones, and there are more entries. */
static bool is_again(const redisReply *reply, const struct op *op)
{
    int64_t more;

    return op->verb == OP_POP && reply->elements == HEAD + 1 &&
           take_number(reply, HEAD, 1, 1, &more);
}

static enum reply_meaning decode_script(const redisReply *reply, struct op *op,
                                        struct reply_room *room)
{
    int64_t code, now_ms, wait_ms;

    if (!take_number(reply, 0, 0, CODES - 1, &code) ||
        !take_number(reply, 1, 0, INT64_MAX, &now_ms) ||
        !take_number(reply, 2, -1, INT64_MAX, &wait_ms))
        return malformed(op);
    if (codes[code] == STATUS_OK) {
        if (is_again(reply, op))
            return REPLY_AGAIN;
        if (!rows[op->verb].take(reply, op, room))
            return malformed(op);
    }
    op->status = codes[code];
    op->now_ms = now_ms;
    op->wait_ms = wait_ms;
    return REPLY_DONE;
}

enum reply_meaning reply_decode(const redisReply *reply, struct op *op, struct reply_room *room)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return decode_error(reply, op);
    if (op->verb == OP_OWNER)
        return decode_owner(reply, op);
    if (reply->type != REDIS_REPLY_ARRAY)
        return malformed(op);
    return decode_script(reply, op, room);
}

bool reply_read_numbers(const redisReply *reply, int64_t *numbers, unsigned count)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != HEAD + count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!take_number(reply, HEAD + i, INT64_MIN, INT64_MAX, &numbers[i]))
            return false;
    }
    return true;
}

static int64_t counter_of_id(struct bytes id, unsigned buckets)
{
    int64_t number = 0;

    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] < '0' || id.at[i] > '9' || number > (INT64_C(1) << 53))
            return 0;
        number = number * 10 + (id.at[i] - '0');
    }
    return number / buckets;
}

int64_t reply_counter(const struct op *op, unsigned buckets)
{
    if (op->status != STATUS_OK)
        return 0;
    if (op->verb == OP_PUSH && op->id.len == 0)
        return counter_of_id(op->out.push.id, buckets);
    if (op->verb == OP_POP && op->out.pop.count > 0)
        return op->out.pop.jobs[op->out.pop.count - 1].stamp;
    return 0;
}
