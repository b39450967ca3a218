#include "node/queue/deliveries.h"

#include <assert.h>

#include "node/queue/core.h"
#include "node/queue/hash.h"

#define CONFIRM_DELAY_MS 5

struct handed_job {
    struct list link; /* in its delivery, in pending, or in its batch */
    UT_hash_handle hh;
    uint64_t key; /* bucket and stamp: the lease */
    bool is_acking;
    int64_t due_mono_ms; /* when it was due, by this node's clock */
    bool was_awaited;
    int64_t stamp;
    unsigned bucket;
    struct bytes id;    /* in text */
    struct bytes topic; /* in text */
    char text[];
};

struct delivery {
    struct list jobs;
};

/* Leases of one topic that travel in one operation. */
struct batch {
    struct op op;
    UT_hash_handle hh; /* by topic, while it is being filled */
    struct deliveries *deliveries;
    struct list jobs;
    struct lease leases[OP_ITEMS_MAX];
    unsigned count;
    bool is_second_try;
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

static void free_jobs(struct list *jobs)
{
    struct list *link;

    while ((link = list_pop(jobs)))
        free(CONTAINER_OF(link, struct handed_job, link));
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

/* ---- batches ---- */

static struct batch *batch_new(struct deliveries *ds, enum op_verb verb,
                               const struct handed_job *h)
{
    struct batch *b = calloc(1, sizeof(*b));

    if (!b)
        abort();
    b->deliveries = ds;
    b->op.verb = verb;
    b->op.bucket = h->bucket;
    b->op.topic = h->topic;
    list_init(&b->jobs);
    return b;
}

static void batch_free(struct batch *b)
{
    free_jobs(&b->jobs);
    free(b);
}

/* A connection lost on the way is worth one more try: without it a consumer that does have
 * the job would keep it for a few seconds only. */
static void on_batch_done(struct op *op)
{
    struct batch *b = CONTAINER_OF(op, struct batch, op);

    if (status_is_unknown(op->status) && !b->is_second_try) {
        b->is_second_try = true;
        core_send(b->deliveries->core, &b->op);
        return;
    }
    batch_free(b);
}

static void batch_send(struct batch *b)
{
    b->op.in.leases.items = b->leases;
    b->op.in.leases.count = b->count;
    b->op.on_done = on_batch_done;
    core_send(b->deliveries->core, &b->op);
}

static void batch_add(struct batch *b, struct handed_job *h)
{
    b->leases[b->count++] = (struct lease){.id = h->id, .stamp = h->stamp};
    list_append(&b->jobs, &h->link);
}

/* Sends all `jobs`, those of a topic together. */
static void send_all(struct deliveries *ds, enum op_verb verb, struct list *jobs)
{
    struct batch *open = NULL, *b, *next;
    struct list *link;

    while ((link = list_pop(jobs))) {
        struct handed_job *h = CONTAINER_OF(link, struct handed_job, link);

        HASH_FIND(hh, open, h->topic.at, h->topic.len, b);
        if (!b) {
            b = batch_new(ds, verb, h);
            HASH_ADD_KEYPTR(hh, open, b->op.topic.at, b->op.topic.len, b);
        }
        batch_add(b, h);
        if (b->count == OP_ITEMS_MAX) {
            HASH_DEL(open, b);
            batch_send(b);
        }
    }
    HASH_ITER (hh, open, b, next) {
        HASH_DEL(open, b);
        batch_send(b);
    }
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
    send_all(ds, OP_RETURN, &d->jobs);
    delivery_free(ds, d);
}

void deliveries_flush(struct deliveries *ds)
{
    LIST_EACH (link, &ds->pending)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are in it */
        HASH_DEL(ds->by_lease, CONTAINER_OF(link, struct handed_job, link));
    ds->pending_count = 0;
    timer_disarm(ds->core->timers, &ds->timer);
    send_all(ds, OP_DELIVERED, &ds->pending);
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

void deliveries_after(struct deliveries *ds, const struct op *op)
{
    struct handed_job *h = op->verb == OP_ACK ? find(ds, op) : NULL;

    if (!h || !h->is_acking)
        return;
    h->is_acking = false;
    if (status_is_unknown(op->status) || op->status == STATUS_UNAVAILABLE ||
        op->status == STATUS_STORE_ERROR || op->status == STATUS_TOO_MANY) {
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
}

void deliveries_fini(struct deliveries *ds)
{
    struct handed_job *h, *next;

    timer_disarm(ds->core->timers, &ds->timer);
    HASH_ITER (hh, ds->by_lease, h, next) {
        HASH_DEL(ds->by_lease, h);
        free(h);
    }
}

bool deliveries_are_idle(const struct deliveries *ds)
{
    return ds->held_count == 0 && ds->pending_count == 0;
}
