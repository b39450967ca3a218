#include "node/queue/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "node/queue/census.h"
#include "node/queue/checks.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/handovers.h"
#include "node/queue/history.h"
#include "node/queue/owners.h"
#include "node/queue/pushes.h"
#include "node/queue/reconciler.h"
#include "node/queue/scanner.h"
#include "node/queue/settings_reader.h"
#include "node/queue/sweeps.h"
#include "node/queue/topic_settings.h"
#include "node/queue/traces.h"
#include "node/queue/waiters.h"

struct queue {
    struct core core;
    struct scanner scanner;
    struct deliveries deliveries;
    struct owners owners;
    struct waiters waiters;
    struct handovers handovers;
    struct history history;
    struct traces traces;
    struct reconciler reconciler;
    struct censuses censuses;
    struct settings_cache settings;
    struct settings_reader settings_reader;
    struct sweeps sweeps;
    bool is_stopping;
    struct timer stop_timer; /* calls on_stopped in a turn of its own */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

static struct queue *queue_of(struct core *core)
{
    return CONTAINER_OF(core, struct queue, core);
}

/* ---- what the parts must know of each other's operations ---- */

static void before_send(struct core *core, const struct op *op)
{
    deliveries_before(&queue_of(core)->deliveries, op);
}

/* By an operation on it alone; the scan counts its own. What has lost its body is dead from its
 * repair on. */
static void count_death(struct queue_stats *stats, const struct op *op)
{
    if ((op->verb == OP_RELEASE || op->verb == OP_BURY) && op->status == STATUS_OK &&
        op->out.change.death != DEATH_NONE)
        stats->died[op->out.change.death]++;
    if (op->verb == OP_REPAIR && op->status == STATUS_OK &&
        op->out.repair.damage == DAMAGE_NO_BODY)
        stats->died[DEATH_DAMAGED]++;
}

static void after_answer(struct core *core, const struct op *op)
{
    struct queue *q = queue_of(core);

    if (op->wait_ms >= 0)
        scanner_hint(&q->scanner, op->bucket, op->wait_ms);
    deliveries_after(&q->deliveries, op);
    settings_reader_after(&q->settings_reader, op);
    history_after(&q->history, op);
    count_death(&core->stats, op);
}

/* May queue_stop() call back now? */
static void check_stopped(struct queue *q)
{
    if (!q->is_stopping || timer_is_armed(&q->stop_timer))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    history_flush(&q->history);
    if (core_is_idle(&q->core) && q->waiters.count == 0 && q->handovers.count == 0 &&
        q->censuses.count == 0 && sweeps_are_idle(&q->sweeps) && traces_are_idle(&q->traces) &&
        deliveries_are_idle(&q->deliveries))
        timer_arm(q->core.timers, &q->stop_timer, 0);
}

static void on_end(struct core *core)
{
    check_stopped(queue_of(core));
}

/* ---- the front door ---- */

void queue_submit(struct queue *q, struct op *op)
{
    enum status status = q->is_stopping
                             ? STATUS_SHUTTING_DOWN
                             : check_op(op, &q->core.options, q->core.store->buckets);

    if (status != STATUS_OK) {
        core_refuse(&q->core, op, status);
        return;
    }
    if (op_is_of_a_topic(op))
        op->bucket = core_bucket_of(&q->core, op->topic);
    if (op->verb == OP_PUSH)
        pushes_send(&q->settings, op);
    else
        core_send(&q->core, op);
}

unsigned queue_buckets(const struct queue *q)
{
    return q->core.store->buckets;
}

void queue_pop(struct queue *q, struct pop *pop)
{
    enum status status = q->is_stopping ? STATUS_SHUTTING_DOWN : check_pop(pop);

    if (status == STATUS_OK && q->waiters.count >= q->core.options.waiting_max)
        status = STATUS_TOO_MANY;
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

void queue_sweep(struct queue *q, struct sweep *sweep)
{
    enum status status = q->is_stopping ? STATUS_SHUTTING_DOWN : check_sweep(sweep);

    if (status == STATUS_OK)
        sweeps_begin(&q->sweeps, sweep);
    else
        sweeps_refuse(&q->sweeps, sweep, status);
}

void queue_sweep_cancel(struct queue *q, struct sweep *sweep)
{
    sweeps_cancel(sweep);
}

void queue_settings(struct queue *q, struct bytes topic, struct topic_settings *settings)
{
    settings_cache_get(&q->settings, topic, settings);
}

void queue_configured_settings(struct queue *q, struct bytes topic,
                               struct topic_settings *settings)
{
    settings_cache_configured(&q->settings, topic, settings);
}

int64_t queue_paused_until(struct queue *q, struct bytes topic, int64_t now_ms)
{
    return settings_cache_paused_until(&q->settings, topic, now_ms);
}

void queue_trace(struct queue *q, struct trace *trace)
{
    enum status status = q->is_stopping ? STATUS_SHUTTING_DOWN : check_trace(trace);

    if (status == STATUS_OK)
        traces_begin(&q->traces, trace);
    else
        traces_refuse(&q->traces, trace, status);
}

void queue_trace_cancel(struct queue *q, struct trace *trace)
{
    traces_cancel(trace);
}

void queue_follow(struct queue *q, struct follow *follow)
{
    enum status status = q->is_stopping ? STATUS_SHUTTING_DOWN : check_follow(follow);

    if (status == STATUS_OK)
        handovers_follow(&q->handovers, follow);
    else
        handovers_refuse(&q->handovers, follow, status);
}

void queue_follow_cancel(struct queue *q, struct follow *follow)
{
    handovers_cancel(&q->handovers, follow);
}

void queue_census(struct queue *q, struct census_call *call)
{
    if (q->is_stopping)
        censuses_refuse(&q->censuses, call, STATUS_SHUTTING_DOWN);
    else
        censuses_ask(&q->censuses, call);
}

void queue_census_cancel(struct queue *q, struct census_call *call)
{
    censuses_cancel(&q->censuses, call);
}

const struct queue_stats *queue_stats(struct queue *q)
{
    q->core.stats.in_flight = q->core.in_flight;
    q->core.stats.following = q->handovers.count;
    q->core.stats.unconfirmed = q->deliveries.held_count + q->deliveries.pending_count;
    return &q->core.stats;
}

/* ---- what the store says unasked ---- */

static void on_ready(void *arg, struct bytes topic)
{
    struct queue *q = arg;

    waiters_wake(&q->waiters, topic);
}

static void on_settings(void *arg, struct bytes topic)
{
    struct queue *q = arg;

    settings_reader_refresh(&q->settings_reader, topic);
}

static void on_up(void *arg)
{
    struct queue *q = arg;

    settings_reader_set_store(&q->settings_reader, true);
    reconciler_set_store(&q->reconciler, true);
    censuses_set_store(&q->censuses, true);
    waiters_wake_all(&q->waiters);
    if (q->scanner.is_active)
        scanner_scan_all(&q->scanner);
}

/* What is sent meanwhile is held by the store, or fails. */
static void on_down(void *arg)
{
    struct queue *q = arg;

    settings_reader_set_store(&q->settings_reader, false);
    reconciler_set_store(&q->reconciler, false);
    censuses_set_store(&q->censuses, false);
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
    handovers_init(&q->handovers, &q->core);
    censuses_init(&q->censuses, &q->core);
    settings_cache_init(&q->settings, &q->core);
    settings_reader_init(&q->settings_reader, &q->core, &q->settings);
    sweeps_init(&q->sweeps, &q->core);
    history_init(&q->history, &q->core, &q->settings);
    traces_init(&q->traces, &q->core, &q->history);
    reconciler_init(&q->reconciler, &q->core);
    deliveries_init(&q->deliveries, &q->core, &q->handovers, &q->history);
    owners_init(&q->owners, &q->core);
    waiters_init(&q->waiters, &q->core, &q->deliveries, &q->owners);
    store->events = (struct store_events){
        .on_ready = on_ready,
        .on_settings = on_settings,
        .on_up = on_up,
        .on_down = on_down,
        .arg = q,
    };
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    scanner_fini(&q->scanner);
    waiters_fini(&q->waiters);
    deliveries_fini(&q->deliveries);
    handovers_fini(&q->handovers);
    censuses_fini(&q->censuses);
    sweeps_fini(&q->sweeps);
    settings_reader_fini(&q->settings_reader);
    traces_fini(&q->traces);
    reconciler_fini(&q->reconciler);
    history_fini(&q->history);
    settings_cache_fini(&q->settings);
    owners_fini(&q->owners);
    timer_disarm(q->core.timers, &q->stop_timer);
    core_fini(&q->core);
    q->core.store->events = (struct store_events){0};
    free(q);
}

void queue_reload(struct queue *q, const struct queue_options *options)
{
    q->core.options = *options;
    reconciler_reload(&q->reconciler);
}

void queue_activate(struct queue *q)
{
    LOG_INFO("queue", "moving what is due, in %u buckets", q->core.store->buckets);
    scanner_activate(&q->scanner);
    reconciler_set_active(&q->reconciler, true);
}

void queue_deactivate(struct queue *q)
{
    scanner_deactivate(&q->scanner);
    reconciler_set_active(&q->reconciler, false);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!q->is_stopping);
    q->is_stopping = true;
    q->on_stopped = on_stopped;
    q->stopped_arg = arg;
    scanner_deactivate(&q->scanner);
    waiters_cancel_all(&q->waiters);
    handovers_cancel_all(&q->handovers);
    censuses_close(&q->censuses);
    sweeps_cancel_all(&q->sweeps);
    traces_cancel_all(&q->traces);
    reconciler_close(&q->reconciler);
    settings_reader_close(&q->settings_reader);
    deliveries_close(&q->deliveries);
    check_stopped(q);
}
