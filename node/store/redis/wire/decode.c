#include "node/store/redis/wire/decode.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/packed.h"
#include "node/store/redis/wire/encode.h"
#include "node/store/redis/wire/take.h"

#define HEAD REPLY_HEAD

/* The codes of lua/common.lua. */
static const enum status codes[] = {
    STATUS_OK,        STATUS_DUPLICATE,    STATUS_NOT_FOUND,        STATUS_NOT_RESERVED,
    STATUS_NOT_OWNER, STATUS_OUT_OF_RANGE, STATUS_WRONG_STATE,      STATUS_FENCED,
    STATUS_UNKNOWN,   STATUS_TOPIC_FULL,   STATUS_TOPIC_FULL_BYTES, STATUS_TOO_MANY_IDENTITIES,
};

#define CODES (sizeof(codes) / sizeof(*codes))

/* No other script than those of pushes, or of identities, has them. */
static bool is_of_others(enum status status, enum op_verb verb)
{
    if (status == STATUS_TOO_MANY_IDENTITIES)
        return verb != OP_IDENTIFY;
    return verb != OP_PUSH && (status == STATUS_UNKNOWN || status == STATUS_TOPIC_FULL ||
                               status == STATUS_TOPIC_FULL_BYTES);
}

/* ---- whole answers ---- */

static enum reply_meaning malformed(struct op *op)
{
    op->status = op_has(op->verb, TRAIT_READS) ? STATUS_STORE_ERROR : STATUS_UNKNOWN;
    return REPLY_MALFORMED;
}

static enum reply_meaning decode_error(const redisReply *reply, struct op *op)
{
    if (reply->len >= 8 && !memcmp(reply->str, "NOSCRIPT", 8))
        return REPLY_NO_SCRIPT;
    op->status = STATUS_STORE_ERROR;
    return REPLY_REFUSED;
}

/* An entry of the index has six bytes before the topic, for nodes of the version before. */
static bool take_owner(struct bytes value, struct op *op)
{
    struct job job;

    if (op->topic.len == 0 && value.len > 6) {
        op->out.owner.topic = bytes_of(value.at + 6, value.len - 6);
        op->out.owner.stamp = 0;
        return true;
    }
    if (op->topic.len == 0 || job_unpack(value, &job) != STATUS_OK)
        return false;
    op->out.owner.topic = op->topic;
    op->out.owner.stamp = job.state == JOB_RESERVED ? job.stamp : 0;
    return true;
}

/* The plain HGET: nil, or an entry of the index, or with a topic the job. */
static enum reply_meaning decode_owner(const redisReply *reply, struct op *op)
{
    if (reply->type == REDIS_REPLY_NIL)
        op->status = STATUS_NOT_FOUND;
    else if (reply->type == REDIS_REPLY_STRING &&
             take_owner(bytes_of(reply->str, reply->len), op))
        op->status = STATUS_OK;
    else
        return malformed(op);
    op->now_ms = 0;
    op->wait_ms = -1;
    return REPLY_DONE;
}

/* The plain SCAN: its cursor, and the keys it met. */
static enum reply_meaning decode_places(const redisReply *reply, struct op *op,
                                        struct reply_room *room)
{
    if (!take_places(reply, op, room))
        return malformed(op);
    op->status = STATUS_OK;
    op->now_ms = 0;
    op->wait_ms = -1;
    return REPLY_DONE;
}

/* A pop that met nothing but tombstones and what has expired, and there are more entries. */
static bool is_retry(const redisReply *reply, const struct op *op)
{
    int64_t more;

    return op->verb == OP_POP && reply->elements == HEAD + 1 &&
           take_number(reply, HEAD, 1, 1, &more);
}

#define REPLY_BODY_MAX (INT64_C(1) << 32) /* no string of Redis is larger */

/* A get says so in place of the body, a pop in place of `more`. */
static bool is_large(const redisReply *reply, const struct op *op, struct reply_room *room)
{
    int64_t bytes;

    if (!op_has(op->verb, TRAIT_BODIES) || reply->elements != HEAD + 1 ||
        !take_number(reply, HEAD, 2, REPLY_BODY_MAX, &bytes))
        return false;
    room->large_bytes = (size_t)bytes;
    return true;
}

static bool take_seen(const redisReply *reply, struct op *op)
{
    struct bytes seen;

    if (!op_has(op->verb, TRAIT_FENCED) || !take_bytes(reply, HEAD, &seen) ||
        seen.len > OP_TOKEN_MAX)
        return false;
    op->out.fenced.seen = seen;
    return true;
}

static enum reply_meaning decode_script(const redisReply *reply, struct op *op,
                                        struct reply_room *room)
{
    struct reply_head head;
    enum status status;

    if (!take_head(reply, CODES - 1, &head))
        return malformed(op);
    status = codes[head.code];
    if (status == STATUS_OK) {
        if (is_retry(reply, op)) {
            op->wait_ms = head.wait_ms;
            return REPLY_AGAIN;
        }
        if (is_large(reply, op, room))
            return REPLY_LARGE;
        if (!take_outputs(reply, op, room))
            return malformed(op);
    }
    if (status == STATUS_FENCED && !take_seen(reply, op))
        return malformed(op);
    if (is_of_others(status, op->verb))
        return malformed(op);
    op->status = status;
    op->now_ms = head.now_ms;
    op->wait_ms = head.wait_ms;
    return REPLY_DONE;
}

enum reply_meaning reply_decode_one(const redisReply *reply, unsigned i, unsigned count,
                                    struct op *op)
{
    size_t each = 1 + part_outputs(op->verb), at = HEAD + i * each;
    struct reply_head head;
    int64_t code;

    if (reply->type == REDIS_REPLY_ERROR)
        return decode_error(reply, op);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != HEAD + count * each ||
        !take_head(reply, 0, &head) || !take_number(reply, at, 0, CODES - 1, &code))
        return malformed(op);
    if (codes[code] == STATUS_OK && !take_part(reply, at + 1, op))
        return malformed(op);
    if (codes[code] == STATUS_FENCED || is_of_others(codes[code], op->verb))
        return malformed(op);
    op->status = codes[code];
    op->now_ms = head.now_ms;
    op->wait_ms = i == 0 ? head.wait_ms : -1;
    return REPLY_DONE;
}

enum reply_meaning reply_decode(const redisReply *reply, struct op *op, struct reply_room *room)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return decode_error(reply, op);
    if (op->verb == OP_RELEASE)
        return reply_decode_one(reply, 0, 1, op);
    if (op->verb == OP_OWNER)
        return decode_owner(reply, op);
    if (reply->type != REDIS_REPLY_ARRAY)
        return malformed(op);
    if (op->verb == OP_PLACES)
        return decode_places(reply, op, room);
    return decode_script(reply, op, room);
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

static int64_t counter_of_pops(const struct op *scan)
{
    int64_t highest = 0;

    for (unsigned i = 0; i < scan->in.scan.pop_count; i++) {
        const struct op *pop = scan->in.scan.pops[i];

        if (pop->out.pop.count > 0 && pop->out.pop.jobs[pop->out.pop.count - 1].stamp > highest)
            highest = pop->out.pop.jobs[pop->out.pop.count - 1].stamp;
    }
    return highest;
}

int64_t reply_counter(const struct op *op, unsigned buckets)
{
    if (op->status != STATUS_OK)
        return 0;
    if (op->verb == OP_PUSH && op->id.len == 0)
        return counter_of_id(op->out.push.id, buckets);
    if ((op->verb == OP_POP || op->verb == OP_TAKE) && op->out.pop.count > 0)
        return op->out.pop.jobs[op->out.pop.count - 1].stamp;
    if (op->verb == OP_SCAN)
        return counter_of_pops(op);
    return 0;
}
