/* Any bytes through scanner, parser and reply writer.
 *
 * The first byte of the input seeds how the rest is cut into pieces. However it is cut, the
 * same frames come out; and whatever a frame says, its reply is one line of JSON with the
 * three keys, in their order, and with the id as it was written.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/gmq/codec.h"
#include "protocol/gmq/reply.h"
#include "protocol/json/read.h"

#define FRAME_MAX 600

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct bytes take_member(struct json_walk *reply, const char *expected_name)
{
    struct bytes name, value;

    assert(json_walk_member(reply, &name, &value));
    assert(bytes_equal(name, bytes_of_text(expected_name)));
    return value;
}

static void check_reply(struct bytes reply, struct bytes id)
{
    struct json_walk members = json_walk_into(reply);
    struct bytes name, error;

    assert(json_check(reply) == JSON_FAULT_NONE);
    assert(bytes_equal(take_member(&members, "\"id\""), id));
    take_member(&members, "\"result\"");
    error = take_member(&members, "\"error\"");
    assert(json_kind_of(error) == JSON_KIND_NULL || json_kind_of(error) == JSON_KIND_STRING);
    assert(!json_walk_member(&members, &name, &error));
    assert(reply.at[reply.len - 1] == '\n');
}

static void check_good_call(const struct gmq_call *call)
{
    if (call->method == GMQ_POP) {
        assert(call->topic_count >= 1 && call->topic_count <= QUEUE_TOPICS_PER_POP_MAX);
        return;
    }
    assert(call->job_id.len > 0);
    assert(call->delay_ms >= 0 && call->delay_ms <= QUEUE_DELAY_MAX_MS);
    assert(call->ttr_ms >= 0 && call->ttr_ms <= QUEUE_TTR_MAX_MS);
}

static void write_reply(struct buf *reply, const struct gmq_call *call, bool strict)
{
    struct job job = {.id = call->job_id, .body = call->body, .ttr_ms = call->ttr_ms};

    if (call->refusal)
        gmq_reply_refusal(reply, call, strict);
    else if (call->method == GMQ_POP)
        gmq_reply_status(reply, call, STATUS_NOT_FOUND, strict);
    else if (call->method == GMQ_ACK)
        gmq_reply_done(reply, call->id, call->method);
    else
        gmq_reply_job(reply, call->id, call->topic, &job, strict);
}

/* A good call lives on without its frame; returns what it lives in. */
static char *take_along(struct gmq_call *call, char *frame)
{
    char *room = malloc(gmq_call_bytes(call));

    assert(room);
    gmq_call_move(call, room);
    free(frame);
    return room;
}

static void try_frame(struct bytes frame)
{
    char *copy = malloc(frame.len); /* of exactly these bytes, to be changed */
    struct gmq_call call;

    assert(copy);
    memcpy(copy, frame.at, frame.len);
    if (gmq_call_parse(&call, copy, frame.len)) {
        if (!call.refusal) {
            check_good_call(&call);
            copy = take_along(&call, copy);
        }
        for (int strict = 0; strict < 2; strict++) {
            struct buf reply = BUF_INIT;

            write_reply(&reply, &call, strict);
            check_reply(buf_bytes(&reply), call.id);
            buf_fini(&reply);
        }
    }
    gmq_call_fini(&call);
    free(copy);
}

/* What the scanner makes of `stream`, cut by the steps of a small generator; a seed of 0
 * does not cut. */
static void scan_all(struct bytes stream, unsigned seed, struct buf *story)
{
    struct gmq_scan scan = {0};
    size_t from = 0, to = 0;

    while (to < stream.len) {
        size_t left = stream.len - to, n;
        enum gmq_scan_result result;
        struct bytes frame;

        seed = seed * 1103515245 + 12345 * (seed != 0);
        to += seed ? 1 + (seed >> 16) % (left < 40 ? left : 40) : left;
        do {
            result = gmq_scan_next(&scan, bytes_of(stream.at + from, to - from), FRAME_MAX,
                                   &frame, &n);
            from += n;
            assert(from <= to);
            if (result != GMQ_SCAN_MORE)
                buf_printf(story, "%d ", (int)result);
            if (result == GMQ_SCAN_FRAME)
                buf_add_bytes(story, frame);
        } while (result == GMQ_SCAN_FRAME || result == GMQ_SCAN_OVERSIZE);
        if (result == GMQ_SCAN_NOT_JSON)
            return;
    }
}

static void try_frames(struct bytes stream)
{
    struct gmq_scan scan = {0};
    enum gmq_scan_result result;
    struct bytes frame;
    size_t used;

    do {
        result = gmq_scan_next(&scan, stream, FRAME_MAX, &frame, &used);
        if (result == GMQ_SCAN_FRAME)
            try_frame(frame);
        stream = bytes_of(stream.at + used, stream.len - used);
    } while (stream.len && (result == GMQ_SCAN_FRAME || result == GMQ_SCAN_OVERSIZE));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct buf whole = BUF_INIT, cut = BUF_INIT;
    struct bytes stream;

    if (size < 2)
        return 0;
    stream = bytes_of((const char *)data + 1, size - 1);
    scan_all(stream, 0, &whole);
    scan_all(stream, 1 + data[0], &cut);
    assert(bytes_equal(buf_bytes(&whole), buf_bytes(&cut)));
    try_frames(stream);
    try_frame(stream);
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
