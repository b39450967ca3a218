#include "node/store/memory/leases.h"

#include <assert.h>

#include "node/store/memory/places.h"
#include "node/store/memory/records.h"

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

static enum status check_own_lease(struct call *c, struct record **record)
{
    return check_lease(c, c->op->id, c->op->in.lease.stamp, record);
}

/* The consumer is known to have it: a try, counted once. */
static void note_consumer(struct record *record)
{
    if (!record->is_confirmed && record->job.tries < JOB_TRIES_MAX)
        record->job.tries++;
    record->is_confirmed = true;
}

/* With the last job the scan is called: it may think it has time until the deadline. */
static void call_scan_if_last(struct call *c)
{
    if (!c->topic->records)
        memory_topic_expect(c->topic, c->now_ms + LAST_JOB_SCAN_MS);
}

/* ---- many at once ---- */

/* NULL: the lease is not valid any more, and counted. */
static struct record *leased(struct call *c, const struct lease *lease)
{
    struct record *record = NULL;

    if (check_lease(c, lease->id, lease->stamp, &record) != STATUS_OK)
        c->op->out.leases.stale++;
    return record;
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
            record_set_holder(record, lease->holder);
            move_deadline(c->topic, record, memory_after(c, ttr_ms));
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

/* The last lease goes first: so the first lease comes before it. */
enum status memory_run_return(struct call *c)
{
    for (unsigned i = c->op->in.leases.count; i-- > 0;) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (!record || record->is_confirmed)
            continue;
        record_leave(c->topic, record);
        enter_ready_first(c->topic, record);
    }
    return STATUS_OK;
}

/* ---- one ---- */

enum status memory_run_ack(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);
    bool was_confirmed;

    if (status != STATUS_OK)
        return status;
    was_confirmed = record->is_confirmed;
    record_delete(c->topic, record);
    if (was_confirmed)
        call_scan_if_last(c);
    return STATUS_OK;
}

/* How long it rests until it is ready again. */
static int64_t rest_ms(const struct call *c, const struct job *job)
{
    int64_t delay_ms = c->op->in.lease.delay_ms;

    if (delay_ms >= 0)
        return delay_ms;
    return backoff_rest_ms(&job->rules.backoff, job->tries, job->stamp);
}

/* The consumer's hands are off it. */
static void end_reservation(struct call *c, struct record *record)
{
    note_consumer(record);
    owner_remove(c->topic, &record->job);
    record_leave(c->topic, record);
    c->op->out.change.tries = record->job.tries;
}

enum status memory_run_release(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);

    if (status != STATUS_OK)
        return status;
    if (c->op->in.lease.delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    end_reservation(c, record);
    if (memory_is_used_up(&record->job)) {
        memory_die(c, record, c->op->out.change.death = DEATH_TRIES);
        return STATUS_OK;
    }
    c->op->out.change.due_ms = memory_after(c, rest_ms(c, &record->job));
    memory_put(c, record, c->op->out.change.due_ms);
    return STATUS_OK;
}

enum status memory_run_touch(struct call *c)
{
    int64_t ttr_ms = c->op->in.lease.ttr_ms;
    struct record *record;
    enum status status = check_own_lease(c, &record);

    if (status != STATUS_OK)
        return status;
    if (ttr_ms == 0)
        ttr_ms = record->job.ttr_ms ? record->job.ttr_ms : TOUCH_NO_TTR_MS;
    note_consumer(record);
    move_deadline(c->topic, record, memory_after(c, ttr_ms));
    c->op->out.change.deadline_ms = record->place_ms;
    return STATUS_OK;
}

enum status memory_run_bury(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);

    if (status != STATUS_OK)
        return status;
    end_reservation(c, record);
    memory_die(c, record, c->op->out.change.death = DEATH_BURIED);
    return STATUS_OK;
}
