/* Any bytes as the body of a push. Whatever is read, its due time is one of the store's, an id
 * made for it is one, and what travels with it comes back; each reply is JSON.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/json/read.h"
#include "protocol/mykit/codec.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_due(const struct mykit_job *job)
{
    int64_t at_ms, delay_ms;

    if (!mykit_job_due(job, &at_ms, &delay_ms))
        return;
    assert(at_ms >= 0 && at_ms <= QUEUE_AT_MAX_MS);
    assert(delay_ms >= 0 && delay_ms <= QUEUE_DELAY_MAX_MS);
    assert(job->has_create == (at_ms > 0));
}

static void check_id(const struct mykit_job *job, uint64_t number)
{
    struct buf id = BUF_INIT;

    mykit_id_add(&id, job, BYTES("10.0.0.7"), number);
    assert(!topic_name_is_valid(job->topic) || job_id_is_valid(buf_bytes(&id)));
    buf_fini(&id);
}

static void check_json(struct buf *out)
{
    assert(json_check(buf_bytes(out)) == JSON_FAULT_NONE);
    buf_clear(out);
}

static void check_replies(const struct mykit_job *job)
{
    struct attributes attributes;
    struct job stored = {.id = job->id, .body = job->body};
    struct buf out = BUF_INIT;
    struct bytes found;

    mykit_add_text(&out, job->id);
    check_json(&out);
    mykit_add_error(&out, job->body);
    check_json(&out);
    if (mykit_job_pack(job, &attributes)) {
        stored.extra.attributes = attributes_packed(&attributes);
        assert(attributes_are_valid(stored.extra.attributes));
        assert(!job->subtopic.len ||
               (attributes_find(stored.extra.attributes, BYTES("subtopic"), &found) &&
                bytes_equal(found, job->subtopic)));
    }
    mykit_add_job(&out, job->topic, &stored);
    check_json(&out);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *copy = malloc(size ? size : 1); /* of exactly these bytes, to be changed */
    struct mykit_job job;
    const char *why;

    assert(copy);
    memcpy(copy, data, size);
    if (mykit_job_read(bytes_of(copy, size), &job, &why)) {
        check_due(&job);
        check_id(&job, (uint64_t)job.ttl);
        check_replies(&job);
    } else {
        assert(why && *why);
    }
    free(copy);
    return 0;
}
