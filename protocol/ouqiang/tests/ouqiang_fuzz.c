/* Any bytes as a body: what is read lies in it, what a push would take is in range, and every
 * reply about it is JSON. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json/read.h"
#include "protocol/ouqiang/codec.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_within(struct bytes part, struct bytes whole)
{
    assert(!part.len || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len));
}

static void check_replies(const struct ouqiang_request *r)
{
    const struct job job = {
        .id = r->id, .body = r->body, .due_ms = r->delay_s, .ttr_ms = r->ttr_s};
    struct buf data = BUF_INIT, reply = BUF_INIT;

    ouqiang_add_job(&data, r->topic, &job);
    ouqiang_add_reply(&reply, 0, r->id, buf_bytes(&data));
    assert(json_check(buf_bytes(&reply)) == JSON_FAULT_NONE);
    buf_clear(&data);
    ouqiang_add_popped(&data, &job);
    assert(json_check(buf_bytes(&data)) == JSON_FAULT_NONE);
    buf_fini(&data);
    buf_fini(&reply);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct ouqiang_request r;
    char *copy = malloc(size + !size);
    struct bytes text = bytes_of(copy, size);

    assert(copy);
    memcpy(copy, data, size);
    if (ouqiang_read(text, &r)) {
        check_within(r.topic, text);
        check_within(r.id, text);
        check_within(r.body, text);
        if (!ouqiang_refusal_of_push(&r)) {
            assert(r.id.len && r.topic.len);
            assert(r.delay_s >= 1 && r.delay_s <= OUQIANG_DELAY_MAX_S);
            assert(r.ttr_s >= 1 && r.ttr_s <= OUQIANG_TTR_MAX_S);
            check_replies(&r);
        }
    }
    free(copy);
    return 0;
}
