#include "node/queue/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"

static struct queue *queue_of(struct core *core)
{
    return CONTAINER_OF(core, struct queue, core);
}

/* ---- what the parts must know of each other's operations ---- */

static void before_send(struct core *core, const struct op *op)
{
    deliveries_before(&queue_of(core)->deliveries, op);
    owned_before(&queue_of(core)->owned, op);
}

/* A death by an operation on one job; a scan counts its own. A job that has lost its body is
 * dead from its repair on, and counts anew where it was dead for another reason. */
static void count_death(struct queue_stats *stats, const struct op *op)
{
    if ((op->verb == OP_RELEASE || op->verb == OP_BURY) && op->status == STATUS_OK &&
        op->out.change.death != DEATH_NONE)
        stats->died[op->out.change.death]++;
    if (op->verb == OP_REPAIR && op->status == STATUS_OK &&
        op->out.repair.damage == DAMAGE_NO_BODY)
        stats->died[DEATH_DAMAGED]++;
}

/* The event became its topic's first. A node that does not scan the topic tells the one that
 * does. */
static void on_event(void *arg, unsigned bucket, struct bytes topic, int64_t wait_ms)
{
    struct queue *q = arg;
    unsigned share = share_of(topic);

    scanner_note(&q->scanner, bucket, share, wait_ms);
    if (!scanner_has(&q->scanner, bucket, share))
        hints_tell(&q->hints, bucket, share, wait_ms);
}

static void after_answer(struct core *core, const struct op *op)
{
    struct queue *q = queue_of(core);

    leadership_after(&q->leadership, op);
    if (op->wait_ms >= 0)
        on_event(q, op->bucket, op->topic, op->wait_ms);
    deliveries_after(&q->deliveries, op);
    settings_reader_after(&q->settings_reader, op);
    history_after(&q->history, op);
    count_death(&core->stats, op);
}

static void on_end(struct core *core)
{
    engine_check_stopped(queue_of(core));
}

/* ---- standing by, active, stopped ---- */

static void enter_lifecycle(struct queue *q, enum lifecycle_state state)
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

static bool is_sharing(const struct queue *q)
{
    return q->scanner.shares != NULL;
}

/* ---- the work of one node at a time ---- */

/* Also for an open bucket: after the store was away all are looked at. */
static void on_open(struct leadership *l, unsigned bucket)
{
    struct queue *q = CONTAINER_OF(l, struct queue, leadership);

    if (!is_sharing(q))
        scanner_begin(&q->scanner, bucket);
    if (!q->reconciler.is_active)
        reconciler_set_active(&q->reconciler, true);
    if (!q->owned.leads)
        owned_set_leading(&q->owned, true);
}

static void on_shut(struct leadership *l, unsigned bucket)
{
    struct queue *q = CONTAINER_OF(l, struct queue, leadership);

    if (!is_sharing(q))
        scanner_end(&q->scanner, bucket);
}

static void on_leadership_end(struct leadership *l)
{
    struct queue *q = CONTAINER_OF(l, struct queue, leadership);

    reconciler_set_active(&q->reconciler, false);
    owned_set_leading(&q->owned, false);
}

static void on_fenced(struct leadership *l)
{
    struct queue *q = CONTAINER_OF(l, struct queue, leadership);

    if (q->life.state == LIFECYCLE_ACTIVE)
        enter_lifecycle(q, LIFECYCLE_STANDBY);
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
    enter_lifecycle(q, LIFECYCLE_ACTIVE);
    if (!is_sharing(q))
        LOG_AT(q->leadership.seen_len ? LEVEL_DEBUG : LEVEL_INFO, "queue",
               "moving what is due, in %u buckets", q->core.store->buckets);
    leadership_begin(&q->leadership, leader);
}

unsigned queue_divided(const struct queue *q, struct bytes *seen)
{
    return leadership_divided(&q->leadership, seen);
}

bool queue_has_led(const struct queue *q)
{
    return q->leadership.is_on && q->leadership.has_led;
}

void queue_deactivate(struct queue *q)
{
    if (engine_is_over(q))
        return;
    if (q->life.state == LIFECYCLE_ACTIVE)
        enter_lifecycle(q, LIFECYCLE_STANDBY);
    leadership_end(&q->leadership);
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

    if (engine_is_over(q))
        return;
    LOG_INFO("queue", "view %" PRIu64 ": %u nodes scan", view->number, view->count);
    hints_share(&q->hints);
    scanner_share(&q->scanner, view);
    if (is_first)
        scan_all_reached(q);
}

struct shares *queue_shares(struct queue *q)
{
    return q->scanner.shares;
}

/* ---- the stop ---- */

bool engine_is_over(const struct queue *q)
{
    return q->life.state >= LIFECYCLE_STOPPING;
}

static void take_nothing_new(struct queue *q)
{
    leadership_close(&q->leadership);
    scanner_end_all(&q->scanner);
    waiters_cancel_all(&q->waiters);
    feed_cancel_all(&q->feed);
    censuses_close(&q->censuses);
    sweeps_cancel_all(&q->sweeps);
    traces_cancel_all(&q->traces);
    reconciler_close(&q->reconciler);
    settings_reader_close(&q->settings_reader);
    deliveries_close(&q->deliveries);
    owned_close(&q->owned);
}

static bool is_idle(const struct queue *q)
{
    return core_is_idle(&q->core) && q->waiters.count == 0 && q->feed.count == 0 &&
           q->censuses.count == 0 && sweeps_are_idle(&q->sweeps) &&
           traces_are_idle(&q->traces) && deliveries_are_idle(&q->deliveries) &&
           ids_are_idle(&q->ids);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!engine_is_over(q));
    enter_lifecycle(q, LIFECYCLE_STOPPING);
    q->life.on_stopped = on_stopped;
    q->life.stopped_arg = arg;
    q->core.on_end = on_end;
    take_nothing_new(q);
    engine_check_stopped(q);
}

void engine_check_stopped(struct queue *q)
{
    if (q->life.state != LIFECYCLE_STOPPING || timer_is_armed(&q->life.stopped))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    history_flush(&q->history);
    if (is_idle(q) && owned_leave(&q->owned))
        timer_arm(q->core.timers, &q->life.stopped, 0);
}

static void on_idle(struct timer *timer)
{
    struct queue *q = CONTAINER_OF(timer, struct queue, life.stopped);

    enter_lifecycle(q, LIFECYCLE_STOPPED);
    if (q->life.on_stopped)
        q->life.on_stopped(q->life.stopped_arg);
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

static void on_identities(void *arg)
{
    struct queue *q = arg;

    if (q->identities_heard)
        q->identities_heard(q->identities_arg);
}

void queue_hear_identities(struct queue *q, void (*heard)(void *arg), void *arg)
{
    q->identities_heard = heard;
    q->identities_arg = arg;
}

static void on_hint(void *arg, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct queue *q = arg;

    scanner_hear(&q->scanner, bucket, share, wait_ms);
}

static void on_up(void *arg)
{
    struct queue *q = arg;

    for (unsigned i = 0; i < q->core.store->buckets; i++)
        q->core.is_away[i] = false;
    settings_reader_set_store(&q->settings_reader, true);
    reconciler_set_store(&q->reconciler, true);
    owned_set_store(&q->owned, true);
    censuses_set_store(&q->censuses, true);
    waiters_wake_all(&q->waiters);
    leadership_set_store(&q->leadership, true);
    if (is_sharing(q) && !engine_is_over(q))
        scan_all_reached(q);
    on_identities(q);
}

/* The store holds what is sent meanwhile, or fails it. Where all nodes scan the scans go on:
 * the store may answer all the same, and only lack wake-ups for this node. */
static void on_down(void *arg)
{
    struct queue *q = arg;

    settings_reader_set_store(&q->settings_reader, false);
    reconciler_set_store(&q->reconciler, false);
    owned_set_store(&q->owned, false);
    censuses_set_store(&q->censuses, false);
    leadership_set_store(&q->leadership, false);
}

static void on_bucket(void *arg, unsigned bucket, bool is_reached)
{
    struct queue *q = arg;

    q->core.is_away[bucket] = !is_reached;
    settings_reader_set_bucket(&q->settings_reader, bucket);
    censuses_set_bucket(&q->censuses, bucket);
    waiters_set_bucket(&q->waiters, bucket);
    leadership_set_bucket(&q->leadership, bucket);
    owned_set_bucket(&q->owned, bucket);
    if (is_sharing(q) && !engine_is_over(q))
        scan_if_reached(q, bucket);
}

/* The scanner does without missed hints: the safety scan makes up for them. */
static void on_missed(void *arg, unsigned bucket)
{
    struct queue *q = arg;

    if (core_is_away(&q->core, bucket))
        return;
    settings_reader_set_bucket(&q->settings_reader, bucket);
    waiters_set_bucket(&q->waiters, bucket);
}

/* Waiting consumers and the scanner look again with each on_up. */
static void on_rollback(void *arg)
{
    struct queue *q = arg;

    losses_count(&q->losses);
    reconciler_begin_anew(&q->reconciler);
}

static bool has_bare(void *arg)
{
    struct queue *q = arg;

    return lease_checks_takes_bare(&q->lease_checks);
}

/* ---- all parts together ---- */

struct queue *queue_new(const struct queue_options *options, struct store *store,
                        struct timers *timers)
{
    struct queue *q = must(calloc(1, sizeof(*q)));

    core_init(&q->core, options, store, timers);
    q->core.before = before_send;
    q->core.after = after_answer;
    timer_init(&q->life.stopped, on_idle);
    leadership_init(&q->leadership, &q->core);
    q->leadership.on_open = on_open;
    q->leadership.on_shut = on_shut;
    q->leadership.on_end = on_leadership_end;
    q->leadership.on_fenced = on_fenced;
    scanner_init(&q->scanner, &q->core, &q->waiters);
    hints_init(&q->hints, &q->core);
    feed_init(&q->feed, &q->core);
    censuses_init(&q->censuses, &q->core);
    losses_init(&q->losses, &q->censuses);
    settings_cache_init(&q->settings, &q->core);
    settings_reader_init(&q->settings_reader, &q->core, &q->settings);
    sweeps_init(&q->sweeps, &q->core);
    history_init(&q->history, &q->core, &q->settings);
    traces_init(&q->traces, &q->core, &q->history);
    reconciler_init(&q->reconciler, &q->core);
    deliveries_init(&q->deliveries, &q->core, &q->feed, &q->history);
    ids_init(&q->ids, &q->core);
    owned_init(&q->owned, &q->core);
    lease_checks_init(&q->lease_checks, &q->core);
    waiters_init(&q->waiters, &q->core, &q->deliveries, &q->ids);
    store->events = (struct store_events){
        .on_ready = on_ready,
        .on_settings = on_settings,
        .on_identities = on_identities,
        .on_hint = on_hint,
        .on_event = on_event,
        .on_up = on_up,
        .on_down = on_down,
        .on_bucket = on_bucket,
        .on_missed = on_missed,
        .on_rollback = on_rollback,
        .has_bare = has_bare,
        .arg = q,
    };
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    leadership_fini(&q->leadership);
    scanner_fini(&q->scanner);
    hints_fini(&q->hints);
    waiters_fini(&q->waiters);
    deliveries_fini(&q->deliveries);
    feed_fini(&q->feed);
    censuses_fini(&q->censuses);
    sweeps_fini(&q->sweeps);
    settings_reader_fini(&q->settings_reader);
    traces_fini(&q->traces);
    reconciler_fini(&q->reconciler);
    history_fini(&q->history);
    settings_cache_fini(&q->settings);
    lease_checks_fini(&q->lease_checks);
    ids_fini(&q->ids);
    owned_fini(&q->owned);
    timer_disarm(q->core.timers, &q->life.stopped);
    core_fini(&q->core);
    q->core.store->events = (struct store_events){0};
    free(q);
}

void queue_reload(struct queue *q, const struct queue_options *options)
{
    q->core.options = *options;
    reconciler_reload(&q->reconciler);
}
