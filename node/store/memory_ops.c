#include "node/store/memory_ops.h"

#include <assert.h>
#include <stdio.h>

#define IDS_EPOCH_MS     INT64_C(1767225600000) /* 2026-01-01 */
#define IDS_PER_MS       32
#define TOUCH_NO_TTR_MS  5000
#define STUCK_RETRY_MS   1000
#define LAST_JOB_SCAN_MS 5000
#define TTR_MAX_MS       ((INT64_C(1) << 32) - 1)
#define OLDEST_LOOK_MAX  100

/* ---- push and pop ---- */

static int64_t or_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

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

/* ---- what the holder of a lease may do ---- */

/* Sets `record` when the lease is valid. */
static enum status check_lease(struct call *c, struct bytes id, int64_t stamp,
                               struct record **record)
{
    struct record *found = record_find(c->topic, id);

    if (!found)
        return STATUS_NOT_FOUND;
    if (found->job.state != JOB_RESERVED)
        return STATUS_NOT_RESERVED;
    if (found->job.stamp != stamp)
        return STATUS_NOT_OWNER;
    *record = found;
    return STATUS_OK;
}

/* The consumer is known to have it: a try, counted once. */
static void note_consumer(struct record *record)
{
    if (!record->is_confirmed && record->job.tries < JOB_TRIES_MAX)
        record->job.tries++;
    record->is_confirmed = true;
}

/* NULL: the lease is not valid any more, and counted. */
static struct record *leased(struct call *c, const struct lease *lease)
{
    struct record *record = NULL;

    if (check_lease(c, lease->id, lease->stamp, &record) != STATUS_OK)
        c->op->out.leases.stale++;
    return record;
}

/* With the last job the scan is called: it may think it has time until the deadline. */
static void call_scan_if_last(struct call *c)
{
    if (!c->topic->records)
        memory_topic_expect(c->topic, c->now_ms + LAST_JOB_SCAN_MS);
}

/* Without a time to run the delivery is the end, even if a touch came before it. */
static enum status run_delivered(struct call *c)
{
    bool was_touched = false;

    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        const struct lease *lease = &c->op->in.leases.items[i];
        struct record *record = leased(c, lease);
        int64_t ttr_ms;

        if (!record)
            continue;
        ttr_ms = lease->has_ttr ? lease->ttr_ms : record->job.ttr_ms;
        if (ttr_ms == 0) {
            was_touched |= record->is_confirmed;
            record_delete(c->topic, record);
        } else if (!record->is_confirmed) {
            note_consumer(record);
            move_deadline(c->topic, record, c->now_ms + ttr_ms);
        }
    }
    if (was_touched)
        call_scan_if_last(c);
    return STATUS_OK;
}

static enum status run_keep(struct call *c)
{
    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (record && !record->is_confirmed)
            move_deadline(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
    }
    return STATUS_OK;
}

/* Each comes behind those before it, and all before what was ready. */
static enum status run_return(struct call *c)
{
    struct list *was_first = c->topic->ready.next;

    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (!record || record->is_confirmed)
            continue;
        record_leave(c->topic, record);
        enter_ready(c->topic, record, was_first);
    }
    return STATUS_OK;
}

static enum status run_ack(struct call *c)
{
    struct record *record;
    enum status status = check_lease(c, c->op->id, c->op->in.lease.stamp, &record);
    bool was_confirmed;

    if (status != STATUS_OK)
        return status;
    was_confirmed = record->is_confirmed;
    record_delete(c->topic, record);
    if (was_confirmed)
        call_scan_if_last(c);
    return STATUS_OK;
}

static enum status run_release(struct call *c)
{
    int64_t due_ms = c->now_ms + c->op->in.lease.delay_ms;
    struct record *record;
    enum status status = check_lease(c, c->op->id, c->op->in.lease.stamp, &record);

    if (status != STATUS_OK)
        return status;
    if (c->op->in.lease.delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    owner_remove(c->topic, &record->job);
    note_consumer(record);
    record_leave(c->topic, record);
    record->job.due_ms = due_ms;
    if (c->op->in.lease.delay_ms == 0)
        enter_ready(c->topic, record, &c->topic->ready);
    else
        enter_delayed(c->topic, record, due_ms);
    return STATUS_OK;
}

static enum status run_touch(struct call *c)
{
    int64_t ttr_ms = c->op->in.lease.ttr_ms;
    struct record *record;
    enum status status = check_lease(c, c->op->id, c->op->in.lease.stamp, &record);

    if (status != STATUS_OK)
        return status;
    if (ttr_ms == 0)
        ttr_ms = record->job.ttr_ms ? record->job.ttr_ms : TOUCH_NO_TTR_MS;
    note_consumer(record);
    move_deadline(c->topic, record, c->now_ms + ttr_ms);
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
    c->op->out.row.job = room_copy_job(c->room, &record->job);
    return STATUS_OK;
}

/* The first one of the list that is no tombstone. */
static int64_t oldest_ready_ms(const struct call *c, struct topic *topic)
{
    unsigned looked_at = 0;

    LIST_EACH (link, &topic->ready) {
        const struct record *record = CONTAINER_OF(link, struct entry, link)->record;

        if (record)
            return or_zero(c->now_ms - record->job.due_ms);
        if (++looked_at == OLDEST_LOOK_MAX)
            break;
    }
    return -1;
}

static struct topic_stats count(const struct call *c, struct topic *topic)
{
    int64_t live = HASH_COUNT(topic->records);
    struct topic_stats stats = {.delayed = (int64_t)topic->delayed.count,
                                .reserved = (int64_t)topic->reserved.count,
                                .oldest_ready_ms = -1,
                                .next_due_ms = -1};

    stats.ready = or_zero(live - stats.delayed - stats.reserved);
    if (stats.ready)
        stats.oldest_ready_ms = oldest_ready_ms(c, topic);
    if (stats.delayed)
        stats.next_due_ms = or_zero(heap_first_ms(&topic->delayed) - c->now_ms);
    return stats;
}

static enum status run_stats(struct call *c)
{
    c->op->out.stats = count(c, c->topic);
    return STATUS_OK;
}

/* The first by name behind `after`; NULL when there is none. */
static struct topic *next_topic(struct bucket *bucket, struct bytes after)
{
    struct topic *topic, *next, *first = NULL;

    HASH_ITER (hh, bucket->topics, topic, next) {
        if (memory_topic_exists(topic) && bytes_compare(topic->name, after) > 0 &&
            (!first || bytes_compare(topic->name, first->name) < 0))
            first = topic;
    }
    return first;
}

static enum status run_topics(struct call *c)
{
    struct op *op = c->op;
    struct topic_count *rows = room_get(c->room, op->in.topics.limit * sizeof(*rows));
    struct bytes after = op->in.topics.after;
    struct topic *topic, *next;
    unsigned seen = 0, told = 0;

    for (; seen < op->in.topics.limit && (topic = next_topic(c->bucket, after)); seen++) {
        after = topic->name;
        if (topic->records || topic->delayed.count || topic->reserved.count)
            rows[told++] = (struct topic_count){topic->name, count(c, topic)};
    }
    HASH_ITER (hh, c->bucket->topics, topic, next)
        op->out.topics.total += memory_topic_exists(topic);
    op->out.topics.rows = rows;
    op->out.topics.count = told;
    op->out.topics.next = next_topic(c->bucket, after) ? after : bytes_of("", 0);
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
    [OP_PUSH] = run_push,       [OP_POP] = run_pop,       [OP_DELIVERED] = run_delivered,
    [OP_KEEP] = run_keep,       [OP_RETURN] = run_return, [OP_ACK] = run_ack,
    [OP_RELEASE] = run_release, [OP_TOUCH] = run_touch,   [OP_CANCEL] = run_cancel,
    [OP_GET] = run_get,         [OP_STATS] = run_stats,   [OP_TOPICS] = run_topics,
    [OP_OWNER] = run_owner,     [OP_SCAN] = run_scan,
};

enum status memory_op_run(struct call *call)
{
    assert(call->op->verb < OP_COUNT);
    return verbs[call->op->verb](call);
}
