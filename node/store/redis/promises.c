/* Between an answer of Redis and its request's end: what promises something is told when enough
 * replicas have it. It is not in flight meanwhile, so there may be thousands; their bytes
 * count.
 */
#include "node/store/redis/requests_private.h"

#include <assert.h>
#include <string.h>

/* That a job is there, or that it never runs again. What else changes a job leaves it where it
 * was when it is lost, and nobody relies on that.
 *
 * Whoever was told `unknown` asks again, and hears DUPLICATE or NOT_FOUND: that is the same
 * promise. */
static bool is_promise(const struct op *op)
{
    static const struct {
        bool is_one;
        enum status also;
    } promises[OP_COUNT] = {
        [OP_PUSH] = {true, STATUS_DUPLICATE},
        [OP_ACK] = {true, STATUS_NOT_FOUND},
        [OP_CANCEL] = {true, STATUS_NOT_FOUND},
        [OP_PURGE] = {true, STATUS_OK},
    };

    return promises[op->verb].is_one &&
           (op->status == STATUS_OK || op->status == promises[op->verb].also);
}

/* The reply will be gone. */
static void keep_outputs(struct request *r)
{
    struct bytes *id = &r->op->out.push.id;

    if (r->op->verb != OP_PUSH || r->op->status != STATUS_OK || r->op->id.len > 0)
        return;
    assert(id->len <= sizeof(r->id)); /* as reply_decode() promises */
    memcpy(r->id, id->at, id->len);
    *id = bytes_of(r->id, id->len);
}

/* Of a push: an id that was left alone is noted nowhere, for nothing has happened. */
static bool is_noted(const struct op *op)
{
    return op->verb == OP_PUSH && op->status == STATUS_OK &&
           !(op->in.push.mode == PUSH_IGNORE && op->out.push.existed);
}

/* Whoever hears of a push relies on it from now on: from now on it may be lost. */
static void tell(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (is_noted(r->op))
        push_ledger_done(q->past->ledger, r->op->bucket, &r->note, timers_now(q->timers));
    request_finish(r);
}

static void on_end(struct replica_wait *wait, bool is_safe)
{
    struct request *r = CONTAINER_OF(wait, struct request, wait);
    struct redis_store_stats *stats = r->queue->stats;

    stats->waiting_for_replicas--;
    if (!is_safe) {
        stats->replica_timeouts++;
        r->op->status = STATUS_NOT_REPLICATED;
    }
    tell(r);
}

/* What is due soon is moved in time, though nobody may rely on it yet. */
static void tell_event(struct request *r)
{
    const struct store_events *events = r->queue->events;

    if (r->op->wait_ms >= 0 && events && events->on_event)
        events->on_event(events->arg, r->op->bucket, r->op->topic, r->op->wait_ms);
    r->op->wait_ms = -1;
}

void request_keep_promise(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (!r->lane->replicas || !is_promise(r->op)) {
        tell(r);
        return;
    }
    tell_event(r);
    keep_outputs(r);
    q->stats->replica_waits++;
    q->stats->waiting_for_replicas++;
    r->wait = (struct replica_wait){.on_end = on_end};
    redis_replicas_wait(r->lane->replicas, &r->wait);
}
