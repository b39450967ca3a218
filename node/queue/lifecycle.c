#include "node/queue/lifecycle.h"

#include <assert.h>

#include "base/log.h"
#include "node/queue/engine.h"

static void enter(struct queue *q, enum lifecycle_state state)
{
    static const char *const words[LIFECYCLE_STATE_COUNT] = {
        [LIFECYCLE_STANDBY] = "STANDBY",
        [LIFECYCLE_ACTIVE] = "ACTIVE",
        [LIFECYCLE_STOPPING] = "STOPPING",
        [LIFECYCLE_STOPPED] = "STOPPED",
    };

    LOG_DEBUG("queue", "%s -> %s", words[q->life.state], words[state]);
    q->life.state = state;
}

/* ---- the duty of one node at a time ---- */

static void begin_duty(struct queue *q)
{
    LOG_INFO("queue", "moving what is due, in %u buckets", q->core.store->buckets);
    scanner_activate(&q->scanner);
    reconciler_set_active(&q->reconciler, true);
}

static void end_duty(struct queue *q)
{
    scanner_deactivate(&q->scanner);
    reconciler_set_active(&q->reconciler, false);
}

void queue_activate(struct queue *q)
{
    if (q->life.state != LIFECYCLE_STANDBY)
        return;
    enter(q, LIFECYCLE_ACTIVE);
    begin_duty(q);
}

void queue_deactivate(struct queue *q)
{
    if (q->life.state != LIFECYCLE_ACTIVE)
        return;
    enter(q, LIFECYCLE_STANDBY);
    end_duty(q);
}

/* ---- the stop ---- */

bool lifecycle_is_over(const struct queue *q)
{
    return q->life.state >= LIFECYCLE_STOPPING;
}

static void take_nothing_new(struct queue *q)
{
    end_duty(q);
    waiters_cancel_all(&q->waiters);
    handovers_cancel_all(&q->handovers);
    censuses_close(&q->censuses);
    sweeps_cancel_all(&q->sweeps);
    traces_cancel_all(&q->traces);
    reconciler_close(&q->reconciler);
    settings_reader_close(&q->settings_reader);
    deliveries_close(&q->deliveries);
}

static bool is_idle(const struct queue *q)
{
    return core_is_idle(&q->core) && q->waiters.count == 0 && q->handovers.count == 0 &&
           q->censuses.count == 0 && sweeps_are_idle(&q->sweeps) &&
           traces_are_idle(&q->traces) && deliveries_are_idle(&q->deliveries);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!lifecycle_is_over(q));
    enter(q, LIFECYCLE_STOPPING);
    q->life.on_stopped = on_stopped;
    q->life.stopped_arg = arg;
    take_nothing_new(q);
    lifecycle_check_stopped(q);
}

void lifecycle_check_stopped(struct queue *q)
{
    if (q->life.state != LIFECYCLE_STOPPING || timer_is_armed(&q->life.stopped))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    history_flush(&q->history);
    if (is_idle(q))
        timer_arm(q->core.timers, &q->life.stopped, 0);
}

static void on_idle(struct timer *timer)
{
    struct queue *q = CONTAINER_OF(timer, struct queue, life.stopped);

    enter(q, LIFECYCLE_STOPPED);
    if (q->life.on_stopped)
        q->life.on_stopped(q->life.stopped_arg);
}

void lifecycle_init(struct queue *q)
{
    q->life = (struct lifecycle){.state = LIFECYCLE_STANDBY};
    timer_init(&q->life.stopped, on_idle);
}

void lifecycle_fini(struct queue *q)
{
    timer_disarm(q->core.timers, &q->life.stopped);
}
