/* Any bytes as the job of a push, as a key of the monitor, and in its lists: what is read keeps
 * to the limits, a key that is read is written the same, and each reply is JSON.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/gmq_web/codec.h"
#include "protocol/json/read.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_json(struct buf *out)
{
    assert(json_check(buf_bytes(out)) == JSON_FAULT_NONE);
    buf_clear(out);
}

static void try_key(struct bytes key)
{
    enum gmq_web_kind kind;
    struct buf again = BUF_INIT;
    struct bytes topic;

    if (!gmq_web_key_read(key, &kind, &topic))
        return;
    assert(topic.len > 0);
    gmq_web_add_key(&again, kind, topic);
    assert(bytes_equal(buf_bytes(&again), key));
    buf_fini(&again);
}

static void try_lists(const struct gmq_web_job *job)
{
    struct job_row row = {.job = {.id = job->id,
                                  .state = JOB_RESERVED,
                                  .delay_ms = job->delay_ms,
                                  .ttr_ms = job->ttr_ms},
                          .place_ms = job->delay_ms * (int64_t)job->body.len};
    struct job popped = row.job;
    struct buf out = BUF_INIT;

    gmq_web_open(&out);
    gmq_web_add_listed(&out, job->topic, &row);
    gmq_web_close(&out, 1, "");
    check_json(&out);
    popped.body = job->body;
    gmq_web_add_popped(&out, job->topic, &popped);
    check_json(&out);
    gmq_web_add_error(&out, job->body);
    check_json(&out);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *copy = malloc(size ? size : 1); /* of exactly these bytes, to be changed */
    struct gmq_web_job job;
    const char *why;

    assert(copy);
    memcpy(copy, data, size);
    try_key(bytes_of(copy, size));
    if (gmq_web_job_read(bytes_of(copy, size), &job, &why)) {
        assert(job.id.len && job.topic.len);
        assert(job.delay_ms >= 0 && job.delay_ms <= QUEUE_DELAY_MAX_MS);
        assert(job.ttr_ms >= 0 && job.ttr_ms <= QUEUE_TTR_MAX_MS);
        try_lists(&job);
    } else {
        assert(why && *why);
    }
    free(copy);
    return 0;
}
