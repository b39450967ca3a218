#include "node/queue/deliveries.h"

#include <assert.h>

#include "node/queue/core.h"
#include "node/queue/feed.h"
#include "node/queue/history.h"

#define CONFIRM_DELAY_MS 5

struct delivery {
    struct list jobs; /* without those whose lease was used before the reply was acknowledged */
    struct renewal renewal;
    int64_t sent_mono_ms;
    int64_t store_ahead_ms; /* the store's clock - ours, at the pop */
    size_t client_len;      /* of its jobs' holder */
};

static struct bytes client_of(const struct pop *pop)
{
    struct bytes client = pop ? pop->client : (struct bytes){0};

    if (client.len > QUEUE_CLIENT_MAX_BYTES)
        client.len = QUEUE_CLIENT_MAX_BYTES;
    return client;
}

struct delivery *delivery_new(struct deliveries *ds, const struct op *op,
                              const struct job *jobs, unsigned count, const struct pop *pop)
{
    struct bytes client = client_of(pop);
    char room[JOB_HOLDER_MAX];
    struct bytes holder = handed_job_holder(client, ds->core->options.node, room);
    struct delivery *d = must(malloc(sizeof(*d)));

    list_init(&d->jobs);
    d->client_len = client.len;
    d->sent_mono_ms = timers_now(ds->core->timers);
    d->store_ahead_ms = op->now_ms - d->sent_mono_ms;
    for (unsigned i = 0; i < count; i++) {
        struct handed_job *h = handed_job_new(op, &jobs[i], holder);

        h->due_mono_ms = jobs[i].due_ms - d->store_ahead_ms;
        h->was_awaited = pop && h->tries == 0 && h->due_mono_ms >= pop->since_mono_ms;
        h->has_ttr = pop && pop->has_ttr;
        h->ttr_ms = h->has_ttr ? pop->ttr_ms : jobs[i].ttr_ms;
        h->ends_with_delivery = h->ttr_ms == 0;
        h->delivery = d;
        list_append(&d->jobs, &h->link);
        HASH_ADD(hh, ds->by_lease, key, sizeof(h->key), h);
    }
    renewals_add(&ds->renewals, &d->renewal, &d->jobs, op);
    ds->held_count++;
    return d;
}

/* ---- confirming ---- */

static void add_pending(struct deliveries *ds, struct handed_job *h)
{
    h->pending_mono_ms = timers_now(ds->core->timers);
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

/* Time of the delivery, or the return, as far as this node knows the store's clock. */
static void write_down(struct deliveries *ds, const struct delivery *d,
                       const struct handed_job *h, enum job_event event)
{
    int64_t now_ms = timers_now(ds->core->timers) + d->store_ahead_ms;
    bool is_delivered = event == EVENT_DELIVERED;
    struct history_item item = {
        .event = event,
        .time_ms = now_ms,
        .at_ms = is_delivered && h->ttr_ms > 0 ? now_ms + h->ttr_ms : 0,
        .tries = h->tries + is_delivered,
        .topic = h->topic,
        .id = h->id,
        .client = bytes_of(h->holder.at, d->client_len),
    };

    history_add(ds->history, h->bucket, &item);
}

static void note_delivery(struct deliveries *ds, const struct delivery *d,
                          const struct handed_job *h)
{
    struct queue_stats *stats = &ds->core->stats;
    struct feed_item item = {
        .at_ms = d->sent_mono_ms + d->store_ahead_ms,
        .topic = h->topic,
        .id = h->id,
        .client = bytes_of(h->holder.at, d->client_len),
        .tries = h->tries,
        .late_ms = h->was_awaited ? d->sent_mono_ms - h->due_mono_ms : -1,
    };

    stats->popped_jobs++;
    if (h->was_awaited)
        histogram_add(&stats->delivery_lateness, item.late_ms);
    feed_add(ds->feed, &item);
    write_down(ds, d, h, EVENT_DELIVERED);
}

/* HELD -> PENDING or ACKING, whose list the job joins after this. */
static void take_out(struct deliveries *ds, struct handed_job *h)
{
    struct delivery *d = h->delivery;

    list_remove(&h->link);
    if (list_is_empty(&d->jobs))
        renewals_remove(&d->renewal);
    note_delivery(ds, d, h);
    h->reserved_until_ms = d->renewal.until_ms;
    h->delivery = NULL;
}

void deliveries_confirm(struct deliveries *ds, struct delivery *d)
{
    struct list *link;

    while ((link = list_first(&d->jobs))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        take_out(ds, h);
        add_pending(ds, h);
    }
    delivery_free(ds, d);
}

void deliveries_return(struct deliveries *ds, struct delivery *d)
{
    renewals_remove(&d->renewal);
    LIST_EACH (link, &d->jobs) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are in it */
        HASH_DEL(ds->by_lease, h);
        ds->core->stats.returned_jobs++;
        write_down(ds, d, h, EVENT_RETURNED);
    }
    batches_send(&ds->batches, OP_RETURN, &d->jobs);
    delivery_free(ds, d);
}

void deliveries_leave_open(struct deliveries *ds, struct delivery *d)
{
    struct list *link;

    renewals_remove(&d->renewal);
    while ((link = list_first(&d->jobs))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are in it */
        HASH_DEL(ds->by_lease, h);
        list_remove(&h->link);
        free(h);
    }
    delivery_free(ds, d);
}

static void send_pending_since(struct deliveries *ds, int64_t mono_ms)
{
    struct list due, *link;

    list_init(&due);
    while ((link = list_first(&ds->pending))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        if (h->pending_mono_ms > mono_ms)
            break;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are in it */
        HASH_DEL(ds->by_lease, h);
        remove_pending(ds, h);
        list_append(&due, link);
    }
    batches_send(&ds->batches, OP_DELIVERED, &due);
}

void deliveries_flush(struct deliveries *ds)
{
    timer_disarm(ds->core->timers, &ds->timer);
    send_pending_since(ds, INT64_MAX);
}

/* A younger one waits for the next time: a quick consumer acknowledges before. */
static void on_timer(struct timer *timer)
{
    struct deliveries *ds = CONTAINER_OF(timer, struct deliveries, timer);

    send_pending_since(ds, timers_now(ds->core->timers) - CONFIRM_DELAY_MS);
    if (!list_is_empty(&ds->pending))
        timer_arm(ds->core->timers, &ds->timer, CONFIRM_DELAY_MS);
}

/* ---- leases in use ---- */

static struct handed_job *find(struct deliveries *ds, const struct op *op)
{
    uint64_t key = handed_job_key(op->bucket, op->in.lease.stamp);
    struct handed_job *h;

    HASH_FIND(hh, ds->by_lease, &key, sizeof(key), h);
    if (h && (!bytes_equal(h->id, op->id) || !bytes_equal(h->topic, op->topic)))
        return NULL; /* a lease that somebody made up */
    return h;
}

void deliveries_before(struct deliveries *ds, const struct op *op)
{
    struct handed_job *h;
    bool was_held;

    if (!op_has(op->verb, TRAIT_BY_LEASE))
        return;
    h = find(ds, op);
    if (!h || h->is_acking)
        return;
    was_held = h->delivery != NULL;
    if (was_held)
        take_out(ds, h);
    if (op->verb == OP_ACK) {
        h->is_acking = true;
        if (!was_held)
            remove_pending(ds, h);
    } else {
        if (was_held)
            add_pending(ds, h);
        /* Without TTR the delivery deletes the job, and must come first. */
        deliveries_flush(ds);
    }
}

/* Has the store looked at the lease? Else the lease is as valid as it was. */
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

void deliveries_init(struct deliveries *ds, struct core *core, struct feed *feed,
                     struct history *history)
{
    *ds = (struct deliveries){.core = core, .feed = feed, .history = history};
    list_init(&ds->pending);
    timer_init(&ds->timer, on_timer);
    renewals_init(&ds->renewals, core);
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
    renewals_fini(&ds->renewals);
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
