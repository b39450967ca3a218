#include "node/store/memory_leases.h"

#define TOUCH_NO_TTR_MS  5000
#define LAST_JOB_SCAN_MS 5000

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
enum status memory_run_delivered(struct call *c)
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

enum status memory_run_keep(struct call *c)
{
    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (record && !record->is_confirmed)
            move_deadline(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
    }
    return STATUS_OK;
}

/* Each comes behind those before it, and all before what was ready. */
enum status memory_run_return(struct call *c)
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

enum status memory_run_ack(struct call *c)
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

enum status memory_run_release(struct call *c)
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

enum status memory_run_touch(struct call *c)
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
