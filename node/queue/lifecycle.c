#include "node/queue/lifecycle.h"

#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "node/queue/engine.h"
#include "node/queue/sharing.h"

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

static struct queue *queue_of(struct duty *d)
{
    return CONTAINER_OF(d, struct queue, duty);
}

static bool is_sharing(const struct queue *q)
{
    return q->scanner.sharing != NULL;
}

/* Also of one that is open: after the store was away all is looked at. */
void lifecycle_open_bucket(struct duty *d, unsigned bucket)
{
    struct queue *q = queue_of(d);

    if (!is_sharing(q))
        scanner_begin(&q->scanner, bucket);
    if (!q->reconciler.is_active)
        reconciler_set_active(&q->reconciler, true);
}

void lifecycle_shut_bucket(struct duty *d, unsigned bucket)
{
    struct queue *q = queue_of(d);

    if (!is_sharing(q))
        scanner_end(&q->scanner, bucket);
}

void lifecycle_end_duty(struct duty *d)
{
    reconciler_set_active(&queue_of(d)->reconciler, false);
}

void lifecycle_fenced(struct duty *d)
{
    struct queue *q = queue_of(d);

    if (q->life.state == LIFECYCLE_ACTIVE)
        enter(q, LIFECYCLE_STANDBY);
}

void queue_activate(struct queue *q)
{
    static const struct queue_leader alone = {.token = {"", 0}};

    queue_lead(q, &alone);
}

void queue_lead(struct queue *q, const struct queue_leader *leader)
{
    if (q->life.state != LIFECYCLE_STANDBY)
        return;
    enter(q, LIFECYCLE_ACTIVE);
    if (!is_sharing(q))
        LOG_AT(q->duty.seen_len ? LEVEL_DEBUG : LEVEL_INFO, "queue",
               "moving what is due, in %u buckets", q->core.store->buckets);
    duty_begin(&q->duty, leader);
}

void queue_deactivate(struct queue *q)
{
    if (lifecycle_is_over(q))
        return;
    if (q->life.state == LIFECYCLE_ACTIVE)
        enter(q, LIFECYCLE_STANDBY);
    duty_end(&q->duty);
}

/* ---- all nodes scan ---- */

static void scan_if_reached(struct queue *q, unsigned bucket)
{
    if (core_is_away(&q->core, bucket))
        scanner_end(&q->scanner, bucket);
    else
        scanner_begin(&q->scanner, bucket);
}

static void scan_all_reached(struct queue *q)
{
    for (unsigned i = 0; i < q->core.store->buckets; i++)
        scan_if_reached(q, i);
}

void queue_share(struct queue *q, const struct shares_view *view)
{
    bool is_first = !is_sharing(q);

    if (lifecycle_is_over(q))
        return;
    LOG_INFO("queue", "view %" PRIu64 ": %u nodes scan", view->number, view->count);
    hints_share(&q->hints);
    scanner_share(&q->scanner, view);
    if (is_first)
        scan_all_reached(q);
}

struct shares *queue_shares(struct queue *q)
{
    return is_sharing(q) ? q->scanner.sharing->shares : NULL;
}

/* Also while it is down it may answer, and only have no wake-ups for this node. */
void lifecycle_on_up(struct queue *q)
{
    if (is_sharing(q) && !lifecycle_is_over(q))
        scan_all_reached(q);
}

void lifecycle_on_bucket(struct queue *q, unsigned bucket)
{
    if (is_sharing(q) && !lifecycle_is_over(q))
        scan_if_reached(q, bucket);
}

/* ---- the stop ---- */

bool lifecycle_is_over(const struct queue *q)
{
    return q->life.state >= LIFECYCLE_STOPPING;
}

static void take_nothing_new(struct queue *q)
{
    duty_close(&q->duty);
    scanner_end_all(&q->scanner);
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
