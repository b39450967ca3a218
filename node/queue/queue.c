#include "node/queue/queue_private.h"

#include <assert.h>

#include "base/crc16.h"
#include "base/log.h"
#include "node/queue/names.h"

/* ---- what each operation must look like ---- */

static enum status check_push(const struct queue *q, const struct op *op)
{
    if (op->id.len > 0 && !job_id_is_valid(op->id))
        return STATUS_BAD_ID;
    if (op->in.push.body.len > q->options.body_max_bytes)
        return STATUS_TOO_LARGE;
    if (op->in.push.delay_ms < 0 || op->in.push.delay_ms > QUEUE_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    if (op->in.push.at_ms < 0 || op->in.push.at_ms > QUEUE_AT_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    if (op->in.push.ttr_ms < 0 || op->in.push.ttr_ms > QUEUE_TTR_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    return STATUS_OK;
}

static enum status check_id(const struct queue *q, const struct op *op)
{
    return job_id_is_valid(op->id) ? STATUS_OK : STATUS_BAD_ID;
}

static enum status check_lease(const struct queue *q, const struct op *op)
{
    if (op->in.lease.stamp < 0 || op->in.lease.stamp > JOB_STAMP_MAX)
        return STATUS_OUT_OF_RANGE;
    if (op->in.lease.delay_ms < 0 || op->in.lease.delay_ms > QUEUE_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    if (op->in.lease.ttr_ms < 0 || op->in.lease.ttr_ms > QUEUE_TTR_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    return check_id(q, op);
}

static enum status check_nothing(const struct queue *q, const struct op *op)
{
    return STATUS_OK;
}

/* The operations that a protocol may submit; the others are the engine's own. */
static enum status (*const checks[OP_COUNT])(const struct queue *, const struct op *) = {
    [OP_PUSH] = check_push,     [OP_ACK] = check_lease, [OP_RELEASE] = check_lease,
    [OP_TOUCH] = check_lease,   [OP_CANCEL] = check_id, [OP_GET] = check_id,
    [OP_STATS] = check_nothing,
};

/* ---- to the store and back ---- */

static void count(struct queue_stats *stats, const struct op *op)
{
    if (op->status == STATUS_OK)
        stats->done[op->verb]++;
    else if (status_is_unknown(op->status))
        stats->unknown[op->verb]++;
    else
        stats->refused[op->verb]++;
}

static void answer(struct queue *q, struct op *op)
{
    count(&q->stats, op);
    op->on_done = op->answer;
    op->on_done(op);
    queue_check_stopped(q);
}

static void on_stored(struct op *op)
{
    struct queue *q = op->queue;

    q->in_flight--;
    if (op->wait_ms >= 0)
        scanner_hint(&q->scanner, op->bucket, op->wait_ms);
    deliveries_after(&q->deliveries, op);
    answer(q, op);
}

void queue_send(struct queue *q, struct op *op)
{
    op->queue = q;
    op->answer = op->on_done;
    op->on_done = on_stored;
    op->wait_ms = -1;
    op->now_ms = 0;
    q->in_flight++;
    deliveries_before(&q->deliveries, op);
    store_submit(q->store, op);
}

void queue_refuse(struct queue *q, struct op *op, enum status status)
{
    op->queue = q;
    op->answer = op->on_done;
    op->status = status;
    op->wait_ms = -1;
    op->now_ms = 0;
    list_init(&op->link);
    list_append(&q->refused, &op->link);
    timer_arm(q->timers, &q->refused_timer, 0);
}

static void on_refused(struct timer *timer)
{
    struct queue *q = CONTAINER_OF(timer, struct queue, refused_timer);
    struct list now, *link;

    list_init(&now);
    list_append_all(&now, &q->refused);
    while ((link = list_pop(&now)))
        answer(q, CONTAINER_OF(link, struct op, link));
}

unsigned queue_bucket_of(const struct queue *q, struct bytes topic)
{
    return crc16(topic) % q->store->buckets;
}

/* ---- the front door ---- */

void queue_submit(struct queue *q, struct op *op)
{
    enum status status = STATUS_OK;

    assert(checks[op->verb]);
    if (q->is_stopping)
        status = STATUS_SHUTTING_DOWN;
    else if (!topic_name_is_valid(op->topic))
        status = STATUS_BAD_TOPIC;
    else
        status = checks[op->verb](q, op);
    if (status != STATUS_OK) {
        queue_refuse(q, op, status);
        return;
    }
    op->bucket = queue_bucket_of(q, op->topic);
    queue_send(q, op);
}

static enum status check_pop(const struct queue *q, const struct pop *pop)
{
    if (q->is_stopping)
        return STATUS_SHUTTING_DOWN;
    if (pop->topic_count < 1 || pop->topic_count > QUEUE_TOPICS_PER_POP_MAX)
        return STATUS_OUT_OF_RANGE;
    if (pop->count < 1 || pop->count > OP_ITEMS_MAX || pop->wait_ms < 0)
        return STATUS_OUT_OF_RANGE;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        if (!topic_name_is_valid(pop->topics[i]))
            return STATUS_BAD_TOPIC;
    }
    return q->waiters.count < q->options.waiting_max ? STATUS_OK : STATUS_TOO_MANY;
}

void queue_pop(struct queue *q, struct pop *pop)
{
    enum status status = check_pop(q, pop);

    if (status == STATUS_OK)
        waiters_add(&q->waiters, pop);
    else
        waiters_refuse(&q->waiters, pop, status);
}

void queue_pop_cancel(struct queue *q, struct pop *pop)
{
    waiters_cancel(&q->waiters, pop);
}

void queue_delivered(struct queue *q, struct delivery *d)
{
    deliveries_confirm(&q->deliveries, d);
    queue_check_stopped(q);
}

void queue_returned(struct queue *q, struct delivery *d)
{
    deliveries_return(&q->deliveries, d);
    queue_check_stopped(q);
}

void queue_ack_by_id(struct queue *q, struct id_ack *ack)
{
    ack->queue = q;
    ack->search = NULL;
    if (q->is_stopping)
        owners_refuse(&q->owners, ack, STATUS_SHUTTING_DOWN);
    else if (!job_id_is_valid(ack->id))
        owners_refuse(&q->owners, ack, STATUS_BAD_ID);
    else
        owners_ack(&q->owners, ack);
}

const struct queue_stats *queue_stats(struct queue *q)
{
    q->stats.unconfirmed = q->deliveries.held_count + q->deliveries.pending_count;
    return &q->stats;
}

/* ---- what the store says unasked ---- */

static void on_ready(void *arg, struct bytes topic)
{
    struct queue *q = arg;

    waiters_wake(&q->waiters, topic);
}

static void on_up(void *arg)
{
    struct queue *q = arg;

    waiters_wake_all(&q->waiters);
    if (q->scanner.is_active)
        scanner_scan_all(&q->scanner);
}

static void on_down(void *arg)
{
    /* What is sent meanwhile is held by the store, or fails: nothing to do here. */
}

/* ---- life ---- */

static void on_stop_timer(struct timer *timer)
{
    struct queue *q = CONTAINER_OF(timer, struct queue, stop_timer);
    void (*on_stopped)(void *) = q->on_stopped;

    q->on_stopped = NULL;
    if (on_stopped)
        on_stopped(q->stopped_arg);
}

struct queue *queue_new(const struct queue_options *options, struct store *store,
                        struct timers *timers)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (!q)
        abort();
    q->options = *options;
    q->store = store;
    q->timers = timers;
    list_init(&q->refused);
    timer_init(&q->refused_timer, on_refused);
    timer_init(&q->stop_timer, on_stop_timer);
    scanner_init(&q->scanner, q);
    waiters_init(&q->waiters, q);
    deliveries_init(&q->deliveries, q);
    owners_init(&q->owners, q);
    store->events = (struct store_events){
        .on_ready = on_ready, .on_up = on_up, .on_down = on_down, .arg = q};
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    assert(q->in_flight == 0);
    scanner_fini(&q->scanner);
    waiters_fini(&q->waiters);
    deliveries_fini(&q->deliveries);
    owners_fini(&q->owners);
    timer_disarm(q->timers, &q->refused_timer);
    timer_disarm(q->timers, &q->stop_timer);
    q->store->events = (struct store_events){0};
    free(q);
}

void queue_reload(struct queue *q, const struct queue_options *options)
{
    q->options = *options;
}

void queue_activate(struct queue *q)
{
    LOG_INFO("queue", "moving what is due, in %u buckets", q->store->buckets);
    scanner_activate(&q->scanner);
}

void queue_deactivate(struct queue *q)
{
    scanner_deactivate(&q->scanner);
}

void queue_check_stopped(struct queue *q)
{
    if (!q->is_stopping || timer_is_armed(&q->stop_timer))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    if (q->in_flight == 0 && q->waiters.count == 0 && list_is_empty(&q->refused) &&
        deliveries_are_idle(&q->deliveries))
        timer_arm(q->timers, &q->stop_timer, 0);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!q->is_stopping);
    q->is_stopping = true;
    q->on_stopped = on_stopped;
    q->stopped_arg = arg;
    scanner_deactivate(&q->scanner);
    waiters_cancel_all(&q->waiters);
    queue_check_stopped(q);
}
