#include "node/queue/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/names.h"
#include "node/queue/owners.h"
#include "node/queue/scanner.h"
#include "node/queue/waiters.h"

struct queue {
    struct core core;
    struct scanner scanner;
    struct deliveries deliveries;
    struct owners owners;
    struct waiters waiters;
    bool is_stopping;
    struct timer stop_timer; /* calls on_stopped in a turn of its own */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

static struct queue *queue_of(struct core *core)
{
    return CONTAINER_OF(core, struct queue, core);
}

/* ---- what each operation must look like ---- */

static enum status check_push(const struct queue *q, const struct op *op)
{
    if (op->id.len > 0 && !job_id_is_valid(op->id))
        return STATUS_BAD_ID;
    if (op->in.push.body.len > q->core.options.body_max_bytes)
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

/* ---- what the parts must know of each other's operations ---- */

static void before_send(struct core *core, const struct op *op)
{
    deliveries_before(&queue_of(core)->deliveries, op);
}

static void after_answer(struct core *core, const struct op *op)
{
    struct queue *q = queue_of(core);

    if (op->wait_ms >= 0)
        scanner_hint(&q->scanner, op->bucket, op->wait_ms);
    deliveries_after(&q->deliveries, op);
}

/* May queue_stop() call back now? */
static void check_stopped(struct queue *q)
{
    if (!q->is_stopping || timer_is_armed(&q->stop_timer))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    if (core_is_idle(&q->core) && q->waiters.count == 0 && deliveries_are_idle(&q->deliveries))
        timer_arm(q->core.timers, &q->stop_timer, 0);
}

static void on_end(struct core *core)
{
    check_stopped(queue_of(core));
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
        core_refuse(&q->core, op, status);
        return;
    }
    op->bucket = core_bucket_of(&q->core, op->topic);
    core_send(&q->core, op);
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
    return q->waiters.count < q->core.options.waiting_max ? STATUS_OK : STATUS_TOO_MANY;
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
    check_stopped(q);
}

void queue_returned(struct queue *q, struct delivery *d)
{
    deliveries_return(&q->deliveries, d);
    check_stopped(q);
}

void queue_ack_by_id(struct queue *q, struct id_ack *ack)
{
    if (q->is_stopping)
        owners_refuse(&q->owners, ack, STATUS_SHUTTING_DOWN);
    else if (!job_id_is_valid(ack->id))
        owners_refuse(&q->owners, ack, STATUS_BAD_ID);
    else
        owners_ack(&q->owners, ack);
}

const struct queue_stats *queue_stats(struct queue *q)
{
    q->core.stats.unconfirmed = q->deliveries.held_count + q->deliveries.pending_count;
    return &q->core.stats;
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
    core_init(&q->core, options, store, timers);
    q->core.before = before_send;
    q->core.after = after_answer;
    q->core.on_end = on_end;
    timer_init(&q->stop_timer, on_stop_timer);
    scanner_init(&q->scanner, &q->core);
    deliveries_init(&q->deliveries, &q->core);
    owners_init(&q->owners, &q->core);
    waiters_init(&q->waiters, &q->core, &q->deliveries, &q->owners);
    store->events = (struct store_events){
        .on_ready = on_ready, .on_up = on_up, .on_down = on_down, .arg = q};
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    scanner_fini(&q->scanner);
    waiters_fini(&q->waiters);
    deliveries_fini(&q->deliveries);
    owners_fini(&q->owners);
    timer_disarm(q->core.timers, &q->stop_timer);
    core_fini(&q->core);
    q->core.store->events = (struct store_events){0};
    free(q);
}

void queue_reload(struct queue *q, const struct queue_options *options)
{
    q->core.options = *options;
}

void queue_activate(struct queue *q)
{
    LOG_INFO("queue", "moving what is due, in %u buckets", q->core.store->buckets);
    scanner_activate(&q->scanner);
}

void queue_deactivate(struct queue *q)
{
    scanner_deactivate(&q->scanner);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!q->is_stopping);
    q->is_stopping = true;
    q->on_stopped = on_stopped;
    q->stopped_arg = arg;
    scanner_deactivate(&q->scanner);
    waiters_cancel_all(&q->waiters);
    deliveries_close(&q->deliveries);
    check_stopped(q);
}
