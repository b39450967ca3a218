#include "node/store/memory_ops.h"

#include <assert.h>
#include <stdio.h>

#include "node/store/memory_counts.h"
#include "node/store/memory_leases.h"

#define IDS_EPOCH_MS   INT64_C(1767225600000) /* 2026-01-01 */
#define IDS_PER_MS     32
#define STUCK_RETRY_MS 1000
#define TTR_MAX_MS     ((INT64_C(1) << 32) - 1)

/* ---- push and pop ---- */

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

static enum status run_push(struct call *c)
{
    struct op *op = c->op;
    int64_t at_ms = op->in.push.at_ms;
    int64_t delay_ms = at_ms ? or_zero(at_ms - c->now_ms) : op->in.push.delay_ms;
    int64_t due_ms = at_ms ? at_ms : c->now_ms + delay_ms;
    struct bytes id = op->id;
    struct record *record;
    char text[24];

    assert(op->in.push.ttr_ms <= TTR_MAX_MS);
    if (delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    if (id.len && record_find(c->topic, id))
        return STATUS_DUPLICATE;
    if (!id.len)
        id = next_id(c, text);
    record = record_new(c->topic, id, op->in.push.body);
    record->job.due_ms = due_ms;
    record->job.delay_ms = delay_ms;
    record->job.ttr_ms = op->in.push.ttr_ms;
    if (due_ms <= c->now_ms)
        enter_ready(c->topic, record, &c->topic->ready);
    else
        enter_delayed(c->topic, record, due_ms);
    op->out.push.id = room_copy(c->room, id);
    op->out.push.due_ms = due_ms;
    return STATUS_OK;
}

/* Does the body fit into what is left of an answer that has `count` jobs? Then it is in. */
static bool takes_room(const struct job *job, unsigned count, size_t *left)
{
    size_t bytes = job->body.len > OP_BODY_SMALL_MAX ? job->body.len : 0;

    if (count > 0 && bytes > *left)
        return false;
    *left -= bytes < *left ? bytes : *left;
    return true;
}

static enum status run_pop(struct call *c)
{
    unsigned wanted = c->op->in.pop.count, count = 0;
    struct job *jobs = room_get(c->room, wanted * sizeof(*jobs));
    size_t left = OP_POP_BYTES_MAX;
    struct record *record;

    assert(wanted >= 1 && wanted <= OP_ITEMS_MAX);
    c->op->out.pop.has_more = false;
    while (count < wanted && (record = ready_first(c->topic))) {
        if (!takes_room(&record->job, count, &left)) {
            c->op->out.pop.has_more = true;
            break;
        }
        ready_take(c->topic);
        enter_reserved(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
        if (c->op->in.pop.id_only)
            owner_set(c->topic, &record->job);
        jobs[count++] = room_copy_job(c->room, &record->job);
    }
    c->op->out.pop.jobs = jobs;
    c->op->out.pop.count = count;
    return STATUS_OK;
}

/* ---- what anybody may do ---- */

static enum status run_cancel(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);

    if (!record)
        return STATUS_NOT_FOUND;
    record_delete(c->topic, record);
    memory_topic_let_go(c->topic);
    return STATUS_OK;
}

static enum status run_get(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);

    if (!record)
        return STATUS_NOT_FOUND;
    c->op->out.job = room_copy_job(c->room, &record->job);
    return STATUS_OK;
}

static enum status run_owner(struct call *c)
{
    struct owner *owner = owner_find(c->bucket, c->op->id);

    if (!owner)
        return STATUS_NOT_FOUND;
    c->op->out.owner.topic = room_copy(c->room, owner->topic->name);
    c->op->out.owner.stamp = owner->stamp;
    return STATUS_OK;
}

/* ---- scan ---- */

/* Moves what is due in one topic, while the limit allows. */
static void scan_topic(struct call *c, struct topic *topic, int64_t *lateness_ms)
{
    struct op *op = c->op;
    unsigned limit = op->in.scan.limit;

    while (op->out.scan.moved < limit && heap_first_ms(&topic->delayed) <= c->now_ms) {
        struct record *record = heap_first(&topic->delayed);

        lateness_ms[op->out.scan.lateness_count++] = c->now_ms - record->job.due_ms;
        record_leave(topic, record);
        enter_ready(topic, record, &topic->ready);
        op->out.scan.moved++;
    }
    while (op->out.scan.moved < limit && heap_first_ms(&topic->reserved) <= c->now_ms) {
        struct record *record = heap_first(&topic->reserved);

        record_leave(topic, record);
        enter_ready(topic, record, &topic->ready);
        op->out.scan.moved++;
        op->out.scan.expired++;
    }
    memory_topic_reindex(topic);
    memory_topic_let_go(topic);
}

/* Stricter than Redis, which moves what is due before the orphan if the limit ends there. */
static void leave_alone(struct call *c, struct topic *topic)
{
    if (c->op->out.scan.stuck++ == 0)
        c->op->out.scan.wrong = BYTES("a job is in its place, but missing in its topic");
    memory_topic_put_off(topic, c->now_ms + STUCK_RETRY_MS);
}

static enum status run_scan(struct call *c)
{
    struct op *op = c->op;
    struct timers *index = &c->bucket->index;
    int64_t *lateness_ms = room_get(c->room, op->in.scan.limit * sizeof(*lateness_ms));

    while (op->out.scan.moved < op->in.scan.limit && heap_first_ms(index) <= c->now_ms) {
        struct topic *topic = CONTAINER_OF(index->heap[1], struct topic, event);

        if (lost_is_due(topic, c->now_ms))
            leave_alone(c, topic);
        else
            scan_topic(c, topic, lateness_ms);
    }
    op->out.scan.lateness_ms = lateness_ms;
    op->out.scan.next_ms = index->count ? or_zero(heap_first_ms(index) - c->now_ms) : -1;
    return STATUS_OK;
}

static enum status (*const verbs[OP_COUNT])(struct call *) = {
    [OP_PUSH] = run_push,
    [OP_POP] = run_pop,
    [OP_DELIVERED] = memory_run_delivered,
    [OP_KEEP] = memory_run_keep,
    [OP_RETURN] = memory_run_return,
    [OP_ACK] = memory_run_ack,
    [OP_RELEASE] = memory_run_release,
    [OP_TOUCH] = memory_run_touch,
    [OP_CANCEL] = run_cancel,
    [OP_GET] = run_get,
    [OP_STATS] = memory_run_stats,
    [OP_TOPICS] = memory_run_topics,
    [OP_OWNER] = run_owner,
    [OP_SCAN] = run_scan,
};

enum status memory_op_run(struct call *call)
{
    assert(call->op->verb < OP_COUNT);
    return verbs[call->op->verb](call);
}
