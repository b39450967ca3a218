/* Any bytes as ids, names, options and bulk bodies.
 *
 * Whatever comes in: an id is refused or comes back as it was; options that pass are in their
 * range; jobs of a bulk lie in the body, one behind the other, and each is JSON; a reply is
 * JSON.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/json/read.h"
#include "protocol/lmstfy/codec.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void try_id(struct bytes input, unsigned buckets)
{
    char room[LMSTFY_ID_ROOM];
    struct bytes id = lmstfy_read_id(input, buckets, room);
    struct buf shown = BUF_INIT, upper = BUF_INIT;

    if (id.at == room) {
        lmstfy_add_id(&shown, id, buckets);
        buf_add_bytes(&upper, input);
        for (size_t i = 0; i < upper.len; i++)
            if (upper.at[i] >= 'a' && upper.at[i] <= 'z')
                upper.at[i] = (char)(upper.at[i] - 'a' + 'A');
        assert(bytes_equal(buf_bytes(&shown), buf_bytes(&upper)));
    } else {
        lmstfy_add_id(&shown, input, buckets);
        assert(bytes_equal(lmstfy_read_id(buf_bytes(&shown), buckets, room), input));
    }
    buf_fini(&shown);
    buf_fini(&upper);
}

static void try_options(struct bytes one, struct bytes two, struct bytes three)
{
    struct lmstfy_publish publish;
    struct lmstfy_consume consume;

    if (!lmstfy_read_publish(one, two, three, &publish)) {
        assert(publish.delay_ms >= 0 && publish.delay_ms <= INT64_C(4294967295000));
        assert(!publish.ttl_ms || publish.ttl_ms > publish.delay_ms);
        assert(publish.tries >= 1 && publish.tries <= RULES_TRIES_MAX);
    }
    if (!lmstfy_read_consume(one, two, three, one, &consume)) {
        assert(consume.ttr_ms >= 1000 && consume.ttr_ms <= QUEUE_TTR_MAX_MS);
        assert(consume.wait_ms >= 0 && consume.count >= 1 && consume.count <= LMSTFY_COUNT_MAX);
    }
}

static void try_attribute(struct bytes name, struct bytes value)
{
    struct attributes attributes = {0};

    if (!lmstfy_take_header(&attributes, name, value))
        assert(attributes_are_valid(attributes_packed(&attributes)));
}

static void try_names(struct bytes space, struct bytes queue)
{
    struct buf topic = BUF_INIT;

    if (!lmstfy_check_names(space, queue, false) && lmstfy_add_topic(&topic, space, queue)) {
        assert(topic_name_is_valid(buf_bytes(&topic)));
        assert(bytes_equal(lmstfy_space_of(buf_bytes(&topic)), space));
        assert(bytes_equal(lmstfy_queue_of(buf_bytes(&topic)), queue));
    }
    buf_fini(&topic);
}

static void try_bulk(struct bytes body)
{
    struct bytes jobs[LMSTFY_BULK_MAX];
    unsigned count;
    const char *end = body.at;

    if (lmstfy_read_bulk(body, jobs, &count))
        return;
    assert(count >= 1 && count <= LMSTFY_BULK_MAX);
    for (unsigned i = 0; i < count; i++) {
        assert(jobs[i].at >= end && jobs[i].at + jobs[i].len <= body.at + body.len);
        assert(json_check(jobs[i]) == JSON_FAULT_NONE);
        end = jobs[i].at + jobs[i].len;
    }
}

static void try_reply(struct bytes one, struct bytes two, struct bytes three)
{
    struct job job = {
        .id = one, .body = two, .tries = (unsigned)three.len, .extra.attributes = one};
    struct buf out = BUF_INIT;

    lmstfy_add_job(&out, &(struct lmstfy_job){.topic = three, .job = &job, .buckets = 16});
    assert(json_check(buf_bytes(&out)) == JSON_FAULT_NONE);
    buf_clear(&out);
    lmstfy_add_error(&out, one);
    assert(json_check(buf_bytes(&out)) == JSON_FAULT_NONE);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *copy = must(malloc(size + 1));
    struct bytes rest = bytes_of(copy, size), one, two, three;

    if (size)
        memcpy(copy, data, size);
    try_bulk(rest);
    one = bytes_cut(&rest, '\n');
    two = bytes_cut(&rest, '\n');
    three = bytes_cut(&rest, '\n');
    try_id(one, 1 + (unsigned)two.len);
    try_options(one, two, three);
    try_names(one, two);
    try_attribute(one, two);
    try_reply(one, two, three);
    free(copy);
    return 0;
}
