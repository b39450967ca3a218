#include "node/queue/deliveries.h"

#include <assert.h>

#include "node/queue/core.h"

#define CONFIRM_DELAY_MS 5

struct delivery {
    struct list jobs;
};

static uint64_t lease_key(unsigned bucket, int64_t stamp)
{
    return (uint64_t)bucket << 48 | (uint64_t)stamp;
}

static struct handed_job *handed_job_new(struct bytes topic, unsigned bucket,
                                         const struct job *job)
{
    struct handed_job *h = malloc(sizeof(*h) + topic.len + job->id.len);

    if (!h)
        abort();
    *h = (struct handed_job){
        .key = lease_key(bucket, job->stamp),
        .stamp = job->stamp,
        .bucket = bucket,
        .topic = bytes_of(h->text, topic.len),
        .id = bytes_of(h->text + topic.len, job->id.len),
    };
    list_init(&h->link);
    memcpy(h->text, topic.at, topic.len);
    memcpy(h->text + topic.len, job->id.at, job->id.len);
    return h;
}

struct delivery *delivery_new(struct deliveries *ds, struct bytes topic, unsigned bucket,
                              const struct job *jobs, unsigned count, int64_t now_ms,
                              int64_t awaited_since_mono_ms)
{
    int64_t mono_ms = timers_now(ds->core->timers);
    struct delivery *d = malloc(sizeof(*d));

    if (!d)
        abort();
    list_init(&d->jobs);
    for (unsigned i = 0; i < count; i++) {
        struct handed_job *h = handed_job_new(topic, bucket, &jobs[i]);

        h->due_mono_ms = mono_ms - (now_ms - jobs[i].due_ms);
        h->was_awaited = jobs[i].tries == 0 && h->due_mono_ms >= awaited_since_mono_ms;
        list_append(&d->jobs, &h->link);
    }
    ds->held_count++;
    return d;
}

/* ---- confirming ---- */

static void add_pending(struct deliveries *ds, struct handed_job *h)
{
    list_append(&ds->pending, &h->link);
    ds->pending_count++;
    if (ds->pending_count >= OP_ITEMS_MAX)
        deliveries_flush(ds);
    else if (!timer_is_armed(&ds->timer))
        timer_arm(ds->core->timers, &ds->timer, CONFIRM_DELAY_MS);
}

static void remove_pending(struct deliveries *ds, struct handed_job *h)
{
    list_remove(&h->link);
    ds->pending_count--;
}

static void delivery_free(struct deliveries *ds, struct delivery *d)
{
    assert(list_is_empty(&d->jobs));
    free(d);
    ds->held_count--;
}

void deliveries_confirm(struct deliveries *ds, struct delivery *d)
{
    struct queue_stats *stats = &ds->core->stats;
    int64_t mono_ms = timers_now(ds->core->timers);
    struct list *link;

    while ((link = list_pop(&d->jobs))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        stats->popped_jobs++;
        if (h->was_awaited)
            histogram_add(&stats->delivery_lateness, mono_ms - h->due_mono_ms);
        HASH_ADD(hh, ds->by_lease, key, sizeof(h->key), h);
        add_pending(ds, h);
    }
    delivery_free(ds, d);
}

void deliveries_return(struct deliveries *ds, struct delivery *d)
{
    LIST_EACH (link, &d->jobs)
        ds->core->stats.returned_jobs++;
    batches_send(&ds->batches, OP_RETURN, &d->jobs);
    delivery_free(ds, d);
}

void deliveries_flush(struct deliveries *ds)
{
    LIST_EACH (link, &ds->pending)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are in it */
        HASH_DEL(ds->by_lease, CONTAINER_OF(link, struct handed_job, link));
    ds->pending_count = 0;
    timer_disarm(ds->core->timers, &ds->timer);
    batches_send(&ds->batches, OP_DELIVERED, &ds->pending);
}

static void on_timer(struct timer *timer)
{
    deliveries_flush(CONTAINER_OF(timer, struct deliveries, timer));
}

/* ---- leases in use ---- */

static struct handed_job *find(struct deliveries *ds, const struct op *op)
{
    uint64_t key = lease_key(op->bucket, op->in.lease.stamp);
    struct handed_job *h;

    HASH_FIND(hh, ds->by_lease, &key, sizeof(key), h);
    if (h && (!bytes_equal(h->id, op->id) || !bytes_equal(h->topic, op->topic)))
        return NULL; /* a lease that somebody made up */
    return h;
}

void deliveries_before(struct deliveries *ds, const struct op *op)
{
    struct handed_job *h;

    if (op->verb != OP_ACK && op->verb != OP_RELEASE && op->verb != OP_TOUCH)
        return;
    h = find(ds, op);
    if (!h || h->is_acking)
        return;
    if (op->verb == OP_ACK) {
        h->is_acking = true;
        remove_pending(ds, h);
    } else {
        /* They count the try, and start from the real deadline: confirm first. */
        deliveries_flush(ds);
    }
}

/* Has the store looked at the lease? Else it is as valid as it was. */
static bool has_judged(enum status status)
{
    return status == STATUS_OK || status == STATUS_NOT_FOUND || status == STATUS_NOT_RESERVED ||
           status == STATUS_NOT_OWNER;
}

void deliveries_after(struct deliveries *ds, const struct op *op)
{
    struct handed_job *h = op->verb == OP_ACK ? find(ds, op) : NULL;

    if (!h || !h->is_acking)
        return;
    h->is_acking = false;
    if (!has_judged(op->status)) {
        add_pending(ds, h);
        return;
    }
    HASH_DEL(ds->by_lease, h);
    free(h);
}

/* ---- life ---- */

void deliveries_init(struct deliveries *ds, struct core *core)
{
    *ds = (struct deliveries){.core = core};
    list_init(&ds->pending);
    timer_init(&ds->timer, on_timer);
    batches_init(&ds->batches, core);
}

void deliveries_fini(struct deliveries *ds)
{
    struct handed_job *h, *next;

    timer_disarm(ds->core->timers, &ds->timer);
    HASH_ITER (hh, ds->by_lease, h, next) {
        HASH_DEL(ds->by_lease, h);
        free(h);
    }
    batches_fini(&ds->batches);
}

void deliveries_close(struct deliveries *ds)
{
    batches_close(&ds->batches);
}

bool deliveries_are_idle(const struct deliveries *ds)
{
    return ds->held_count == 0 && ds->pending_count == 0 && batches_are_idle(&ds->batches);
}
