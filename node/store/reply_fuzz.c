/* Replies grown from bytes, given to every verb's decoder.
 *
 *   byte 0   verb
 *   byte 1   items asked for
 *   then elements, each a tag and its data:
 *     0 n        an integer of one byte, less 128
 *     1 n8       an integer of eight bytes
 *     2 l text   a string of l bytes
 *     3 l text   a job's value: its state made valid
 *     4          nil
 *     5 l text   an error
 *     6          an empty array
 *
 * A leading tag 7 sends the first element alone instead of the array of all.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/reply.h"

#define ELEMENTS_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static void take_text(struct input *in, redisReply *reply)
{
    size_t len = take(in);

    reply->len = len < in->left ? len : in->left;
    reply->str = calloc(1, reply->len + 1);
    memcpy(reply->str, in->at, reply->len);
    in->at += reply->len;
    in->left -= reply->len;
}

static redisReply *take_element(struct input *in)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    switch (take(in) % 7) {
    case 0:
        reply->type = REDIS_REPLY_INTEGER;
        reply->integer = take(in) - 128LL;
        break;
    case 1:
        reply->type = REDIS_REPLY_INTEGER;
        for (unsigned i = 0; i < 8; i++)
            reply->integer = (long long)((unsigned long long)reply->integer << 8 | take(in));
        break;
    case 2:
        reply->type = REDIS_REPLY_STRING;
        take_text(in, reply);
        break;
    case 3:
        reply->type = REDIS_REPLY_STRING;
        take_text(in, reply);
        if (reply->len)
            reply->str[0] = (char)((reply->str[0] & ~JOB_STATE_MASK) | JOB_RESERVED);
        break;
    case 4:
        reply->type = REDIS_REPLY_NIL;
        break;
    case 5:
        reply->type = REDIS_REPLY_ERROR;
        take_text(in, reply);
        break;
    default:
        reply->type = REDIS_REPLY_ARRAY;
        break;
    }
    return reply;
}

static redisReply *take_array(struct input *in)
{
    redisReply *reply = calloc(1, sizeof(*reply));

    reply->type = REDIS_REPLY_ARRAY;
    reply->element = calloc(ELEMENTS_MAX, sizeof(*reply->element));
    while (in->left && reply->elements < ELEMENTS_MAX)
        reply->element[reply->elements++] = take_element(in);
    return reply;
}

/* Where it is not readable, the sanitizer says so. */
static void read_all(struct bytes bytes)
{
    char *copy = malloc(bytes.len + 1);

    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    free(copy);
}

/* Every byte that the op now points to must be readable. */
static void touch_outputs(const struct op *op)
{
    if (op->status != STATUS_OK)
        return;
    if (op->verb == OP_POP) {
        assert(op->out.pop.count <= op->in.pop.count);
        for (unsigned i = 0; i < op->out.pop.count; i++)
            read_all(op->out.pop.jobs[i].body);
    } else if (op->verb == OP_SCAN) {
        assert(op->out.scan.lateness_count <= REPLY_ITEMS_MAX);
        for (unsigned i = 0; i < op->out.scan.lateness_count; i++)
            assert(op->out.scan.lateness_ms[i] >= 0);
        read_all(op->out.scan.wrong);
    } else if (op->verb == OP_TOPICS) {
        assert(op->out.topics.count <= op->in.topics.limit);
        for (unsigned i = 0; i < op->out.topics.count; i++)
            read_all(op->out.topics.rows[i].topic);
        read_all(op->out.topics.next);
    } else if (op->verb == OP_GET) {
        read_all(op->out.row.job.body);
    } else if (op_is_of_leases(op->verb)) {
        assert(op->out.leases.stale <= op->in.leases.count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reply_room room;
    struct input in = {data, size};
    struct op op = {.verb = take(&in) % OP_COUNT, .status = STATUS_COUNT};
    unsigned count = 1 + take(&in) % OP_ITEMS_MAX;
    enum reply_meaning meaning;
    redisReply *reply;

    if (op.verb == OP_POP)
        op.in.pop.count = count;
    else if (op_is_of_leases(op.verb))
        op.in.leases.count = count;
    else if (op.verb == OP_TOPICS)
        op.in.topics.limit = count;
    reply = in.left && *in.at == 7 ? (take(&in), take_element(&in)) : take_array(&in);
    meaning = reply_decode(reply, &op, &room);
    assert((meaning == REPLY_DONE || meaning == REPLY_REFUSED || meaning == REPLY_MALFORMED) ==
           (op.status != STATUS_COUNT));
    touch_outputs(&op);
    if (meaning == REPLY_DONE)
        assert(reply_counter(&op, 64) >= 0);
    freeReplyObject(reply);
    return 0;
}
