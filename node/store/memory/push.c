#include "node/store/memory/push.h"

#include <assert.h>
#include <stdio.h>

#include "node/store/memory/records.h"

#define IDS_EPOCH_MS INT64_C(1767225600000) /* 2026-01-01 */
#define IDS_PER_MS   32
#define TTR_MAX_MS   ((INT64_C(1) << 32) - 1)

/* An id that no live job of the topic has. `text` takes it. */
static struct bytes next_id(struct call *c, char text[24])
{
    int64_t *n = &c->bucket->n;
    int64_t of_now = (c->now_ms - IDS_EPOCH_MS) * IDS_PER_MS;
    unsigned b = (unsigned)(c->bucket - c->bucket->db->buckets);
    struct bytes id;

    *n = *n + 1 > of_now ? *n + 1 : of_now;
    for (;; ++*n) {
        long long number = *n * c->bucket->db->bucket_count + b;

        id = bytes_of(text, (size_t)snprintf(text, 24, "%lld", number));
        if (!record_find(c->topic, id))
            return id;
    }
}

static int64_t expires_ms(const struct call *c, const struct job *job)
{
    bool is_from_due = c->op->in.push.ttl_from_due && job->delay_ms > 0;

    return c->op->in.push.ttl_ms
               ? (is_from_due ? job->due_ms : c->start_ms) + c->op->in.push.ttl_ms
               : 0;
}

/* What is pushed: its times are those of now. */
static struct job job_of(const struct call *c)
{
    const struct op *op = c->op;
    int64_t at_ms = op->in.push.at_ms;
    struct job job = {.id = op->id, .body = op->in.push.body, .rules = op->in.push.rules};

    job.delay_ms = at_ms ? or_zero(at_ms - c->now_ms) : op->in.push.delay_ms;
    job.due_ms = at_ms ? at_ms : memory_after(c, job.delay_ms);
    job.ttr_ms = op->in.push.ttr_ms;
    job.rules.expires_ms = expires_ms(c, &job);
    return job;
}

static bool is_in_range(const struct job *job)
{
    int64_t expires_ms = job->rules.expires_ms;

    return job->delay_ms <= JOB_DELAY_MAX_MS && (!expires_ms || expires_ms > job->due_ms);
}

static enum status answer(struct call *c, const struct job *job, bool existed)
{
    c->op->out.push.id = room_copy(c->room, job->id);
    c->op->out.push.due_ms = job->due_ms;
    c->op->out.push.existed = existed;
    return STATUS_OK;
}

enum status memory_run_push(struct call *c)
{
    enum push_mode mode = c->op->in.push.mode;
    struct record *lives = c->op->id.len ? record_find(c->topic, c->op->id) : NULL;
    struct job job = job_of(c);
    char text[24];

    assert(job.ttr_ms <= TTR_MAX_MS);
    if (!is_in_range(&job))
        return STATUS_OUT_OF_RANGE;
    if (lives && mode == PUSH_REJECT)
        return STATUS_DUPLICATE;
    if (lives && mode == PUSH_IGNORE)
        return answer(c, &lives->job, true);
    if (lives)
        record_delete(c->topic, lives);
    if (!job.id.len)
        job.id = next_id(c, text);
    memory_put(c, record_new(c->topic, &job), job.due_ms);
    return answer(c, &job, lives != NULL);
}
