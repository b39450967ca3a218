#include "node/queue/engine.h"

#include <stdlib.h>

static struct queue *queue_of(struct core *core)
{
    return CONTAINER_OF(core, struct queue, core);
}

/* ---- what the parts must know of each other's operations ---- */

static void before_send(struct core *core, const struct op *op)
{
    deliveries_before(&queue_of(core)->deliveries, op);
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
static void note_event(struct queue *q, unsigned bucket, struct bytes topic, int64_t wait_ms)
{
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
        note_event(q, op->bucket, op->topic, op->wait_ms);
    deliveries_after(&q->deliveries, op);
    settings_reader_after(&q->settings_reader, op);
    history_after(&q->history, op);
    count_death(&core->stats, op);
}

static void on_end(struct core *core)
{
    lifecycle_check_stopped(queue_of(core));
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

static void on_hint(void *arg, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct queue *q = arg;

    scanner_hear(&q->scanner, bucket, share, wait_ms);
}

static void on_event(void *arg, unsigned bucket, struct bytes topic, int64_t wait_ms)
{
    note_event(arg, bucket, topic, wait_ms);
}

static void on_up(void *arg)
{
    struct queue *q = arg;

    for (unsigned i = 0; i < q->core.store->buckets; i++)
        q->core.is_away[i] = false;
    settings_reader_set_store(&q->settings_reader, true);
    reconciler_set_store(&q->reconciler, true);
    censuses_set_store(&q->censuses, true);
    waiters_wake_all(&q->waiters);
    leadership_set_store(&q->leadership, true);
    lifecycle_on_up(q);
}

/* The store holds what is sent meanwhile, or fails it. */
static void on_down(void *arg)
{
    struct queue *q = arg;

    settings_reader_set_store(&q->settings_reader, false);
    reconciler_set_store(&q->reconciler, false);
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
    lifecycle_on_bucket(q, bucket);
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

/* ---- all parts together ---- */

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
    lifecycle_init(q);
    leadership_init(&q->leadership, &q->core);
    q->leadership.on_open = lifecycle_open_bucket;
    q->leadership.on_shut = lifecycle_shut_bucket;
    q->leadership.on_end = lifecycle_end_leadership;
    q->leadership.on_fenced = lifecycle_fenced;
    scanner_init(&q->scanner, &q->core);
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
    owners_init(&q->owners, &q->core);
    waiters_init(&q->waiters, &q->core, &q->deliveries, &q->owners);
    store->events = (struct store_events){
        .on_ready = on_ready,
        .on_settings = on_settings,
        .on_hint = on_hint,
        .on_event = on_event,
        .on_up = on_up,
        .on_down = on_down,
        .on_bucket = on_bucket,
        .on_missed = on_missed,
        .on_rollback = on_rollback,
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
    owners_fini(&q->owners);
    lifecycle_fini(q);
    core_fini(&q->core);
    q->core.store->events = (struct store_events){0};
    free(q);
}

void queue_reload(struct queue *q, const struct queue_options *options)
{
    q->core.options = *options;
    reconciler_reload(&q->reconciler);
}
