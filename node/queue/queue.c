#include "node/queue/queue.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/queue/checks.h"
#include "node/queue/core.h"
#include "node/queue/engine.h"
#include "node/queue/settings.h"
#include "node/queue/shares.h"

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool has_valid_length(struct bytes name)
{
    return name.len >= 1 && name.len <= NAME_MAX_BYTES;
}

static bool is_dots(struct bytes name)
{
    return bytes_equal(name, BYTES(".")) || bytes_equal(name, BYTES(".."));
}

bool topic_name_is_valid(struct bytes topic)
{
    if (!has_valid_length(topic) || topic.at[0] == '-' || is_dots(topic))
        return false;
    for (size_t i = 0; i < topic.len; i++) {
        char c = topic.at[i];

        if (!is_alphanumeric(c) && (c == '\0' || !strchr("_.:/+;$()-", c)))
            return false;
    }
    return true;
}

bool job_id_is_valid(struct bytes id)
{
    if (!has_valid_length(id) || is_dots(id))
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] <= ' ' || id.at[i] > '~')
            return false;
    }
    return true;
}

/* ---- adoption ---- */

static void on_bucket(struct op *op);

static void prepare(struct adoption *a, unsigned bucket, bool adopts)
{
    a->op = (struct op){.verb = OP_FENCE,
                        .bucket = bucket,
                        .token = bytes_of_text(a->token),
                        .on_done = on_bucket};
    a->op.in.fence.adopts = adopts;
}

static void adoption_end(struct adoption *a, enum status status)
{
    if (status == STATUS_OK)
        LOG_WARN("queue", "the store is now %s%s: an operator wants it",
                 *a->token ? "led with the token " : "given to standalone nodes", a->token);
    a->status = status;
    a->on_done(a);
}

/* In the second round it has gone to another ensemble, or to standalone nodes, since the first:
 * another adoption ran at the same time. */
static bool is_lost(const struct adoption *a)
{
    return a->op.status == STATUS_FENCED && !a->op.in.fence.adopts &&
           !bytes_equal(op_token_ensemble(a->op.token),
                        op_token_ensemble(a->op.out.fenced.seen));
}

static void count_lost(struct adoption *a)
{
    struct bytes seen = a->op.out.fenced.seen;

    assert(seen.len < sizeof(a->lost_to));
    memcpy(a->lost_to, seen.at, seen.len);
    a->lost_to[seen.len] = '\0';
    a->lost++;
}

static void on_bucket(struct op *op)
{
    struct adoption *a = CONTAINER_OF(op, struct adoption, op);
    struct core *core = op->core;
    unsigned next = (op->bucket + 1) % core->store->buckets;
    bool adopts = op->in.fence.adopts, is_over = next == 0 && !adopts;

    if (is_lost(a))
        count_lost(a);
    else if (op->status != STATUS_OK)
        is_over = true;
    if (!is_over) {
        prepare(a, next, adopts && next != 0);
        core_send(core, op);
        return;
    }
    adoption_end(a, op->status == STATUS_OK && a->lost ? STATUS_FENCED : op->status);
}

/* The rest of queue_adopt(). */
static void adoption_begin(struct adoption *a, struct core *core)
{
    prepare(a, 0, true);
    core_send(core, &a->op);
}

static void adoption_refuse(struct adoption *a, struct core *core, enum status status)
{
    prepare(a, 0, true);
    core_refuse(core, &a->op, status);
}

/* ---- queue ---- */

void queue_submit(struct queue *q, struct op *op)
{
    enum status status = lifecycle_is_over(q)
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

void queue_adopt(struct queue *q, struct adoption *adoption)
{
    adoption->lost = 0;
    adoption->lost_to[0] = '\0';
    if (lifecycle_is_over(q))
        adoption_refuse(adoption, &q->core, STATUS_SHUTTING_DOWN);
    else
        adoption_begin(adoption, &q->core);
}

void queue_abandon(struct queue *q, struct op *op)
{
    if (op->verb != OP_ACK)
        core_abandon(&q->core, op);
}

unsigned queue_buckets(const struct queue *q)
{
    return q->core.store->buckets;
}

struct bytes queue_topic_preferred(struct queue *q, struct bytes topic)
{
    const struct shares *shares = queue_shares(q);

    return shares ? shares_preferred(shares, core_bucket_of(&q->core, topic), share_of(topic))
                  : BYTES("");
}

void queue_pop(struct queue *q, struct pop *pop)
{
    enum status status = lifecycle_is_over(q) ? STATUS_SHUTTING_DOWN : check_pop(pop);

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
    lifecycle_check_stopped(q);
}

void queue_returned(struct queue *q, struct delivery *d)
{
    deliveries_return(&q->deliveries, d);
    lifecycle_check_stopped(q);
}

void queue_left_open(struct queue *q, struct delivery *d)
{
    deliveries_leave_open(&q->deliveries, d);
    lifecycle_check_stopped(q);
}

void queue_ack_by_id(struct queue *q, struct id_ack *ack)
{
    if (lifecycle_is_over(q))
        owners_refuse(&q->owners, ack, STATUS_SHUTTING_DOWN);
    else if (!job_id_is_valid(ack->id))
        owners_refuse(&q->owners, ack, STATUS_BAD_ID);
    else
        owners_ack(&q->owners, ack);
}

void queue_sweep(struct queue *q, struct sweep *sweep)
{
    enum status status = lifecycle_is_over(q) ? STATUS_SHUTTING_DOWN : check_sweep(sweep);

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
    enum status status = lifecycle_is_over(q) ? STATUS_SHUTTING_DOWN : check_trace(trace);

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
    enum status status = lifecycle_is_over(q) ? STATUS_SHUTTING_DOWN : check_follow(follow);

    if (status == STATUS_OK)
        feed_follow(&q->feed, follow);
    else
        feed_refuse(&q->feed, follow, status);
}

void queue_follow_cancel(struct queue *q, struct follow *follow)
{
    feed_cancel(&q->feed, follow);
}

void queue_census(struct queue *q, struct census_call *call)
{
    if (lifecycle_is_over(q))
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
    q->core.stats.following = q->feed.count;
    q->core.stats.unconfirmed = q->deliveries.held_count + q->deliveries.pending_count;
    return &q->core.stats;
}
