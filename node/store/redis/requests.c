#include "node/store/redis/requests_private.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"

/* ---- sending ---- */

static bool is_connected(const struct redis_requests *q)
{
    return q->is_open && !q->is_leaving && redis_link_is_open(q->link);
}

static bool can_send(const struct redis_requests *q)
{
    return is_connected(q) && q->stats->in_flight < q->options->flight_max &&
           redis_gate_passes(&q->gate);
}

/* What surely has not run gets a new number each time: were it to keep its old one, it could
 * take the place of a later push. False: nobody can tell any more whether it has run. */
static bool take_note(struct request *r)
{
    struct push_ledger *ledger = redis_handshake_ledger(r->queue->handshake);
    int64_t now_ms = timers_now(r->queue->timers);

    if (r->may_have_run)
        return push_ledger_again(ledger, r->op->bucket, &r->note, now_ms);
    r->note = push_ledger_next(ledger, r->op->bucket, now_ms);
    return true;
}

static void encode(struct request *r)
{
    struct redis_requests *q = r->queue;
    const char *sha = r->needs_text ? NULL : redis_handshake_sha(q->handshake, r->op->verb);

    if (r->op->verb == OP_PUSH)
        script_encode_push(&q->encoded, &q->keys, r->op, &r->note, sha);
    else
        script_encode(&q->encoded, &q->keys, r->op, sha);
}

void request_send(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct script_call *call = &q->encoded;

    r->op->waits = NULL;
    if (r->op->verb == OP_PUSH && !take_note(r)) {
        request_fail_later(r, request_unsent(r, STATUS_UNKNOWN));
        return;
    }
    encode(r);
    r->call.on_reply = requests_on_reply;
    r->sent_us = clock_mono_us();
    q->stats->in_flight++;
    redis_gate_asked(&q->gate);
    redis_link_send(q->link, &r->call, call->argc, call->argv, call->lens);
}

void requests_send_held(struct redis_requests *q)
{
    struct redis_held *held;

    while (can_send(q) && (held = redis_hold_take(&q->hold)))
        request_send(CONTAINER_OF(held, struct request, held));
}

/* ---- submitting ---- */

/* Now or not at all: that this node may act was asked for this moment. There are a few for each
 * bucket at most; were they to wait for room, an overload would keep what is due from moving.
 */
static void submit_fenced(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (!is_connected(q)) {
        request_fail_later(r, STATUS_UNAVAILABLE);
        return;
    }
    r->needs_text = q->is_forgotten[r->op->verb];
    q->is_forgotten[r->op->verb] = false;
    request_send(r);
}

static bool is_full(const struct redis_requests *q)
{
    return q->stats->held_bytes > q->options->bytes_max ||
           q->stats->held >= q->options->held_max;
}

/* What the node says of jobs that it has handed out is not refused by the breaker: somebody
 * works on them, and would not be alone for long. */
static void submit_for_anyone(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (redis_gate_refuses(&q->gate) && !op_is_of_leases(r->op->verb)) {
        q->stats->broken++;
        request_fail_later(r, STATUS_UNAVAILABLE);
    } else if (is_full(q)) {
        q->stats->overflowed++;
        request_fail_later(r, STATUS_TOO_MANY);
    } else if (redis_hold_is_empty(&q->hold) && can_send(q)) {
        request_send(r);
    } else {
        r->op->waits = r;
        redis_hold_add(&q->hold, &r->held, q->options->hold_ms);
        redis_gate_asked(&q->gate);
    }
}

void redis_requests_submit(struct redis_requests *q, struct op *op)
{
    struct request *r = request_new(q, op);

    if (q->is_stopping)
        request_fail_later(r, STATUS_SHUTTING_DOWN);
    else if (op_is_fenced(op->verb))
        submit_fenced(r);
    else
        submit_for_anyone(r);
}

/* ---- waiting ---- */

static void on_expired(struct redis_hold *hold, struct redis_held *held)
{
    struct request *r = CONTAINER_OF(held, struct request, held);

    r->queue->stats->expired++;
    request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
}

static void drop(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->dropped++;
    redis_hold_remove(&q->hold, &r->held);
    request_fail_later(r, STATUS_UNAVAILABLE);
}

/* While there is a connection it waits for room only, and its turn is about to come: unless
 * that connection turns out to be none. */
void redis_requests_abandon(struct redis_requests *q, struct op *op)
{
    struct request *r = op->waits;

    if (!r)
        return;
    if (is_connected(q))
        r->is_abandoned = true;
    else
        drop(r);
}

static void drop_abandoned(struct redis_requests *q)
{
    LIST_EACH_SAFE (link, &q->hold.list) {
        struct redis_held *held = CONTAINER_OF(link, struct redis_held, link);
        struct request *r = CONTAINER_OF(held, struct request, held);

        if (r->is_abandoned && r->op->waits) /* and was never sent */
            drop(r);
    }
}

bool request_hold_again(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (q->is_stopping || op_is_fenced(r->op->verb))
        return false;
    q->stats->repeated++;
    redis_hold_put_back(&q->hold, &r->held, q->options->hold_ms);
    return true;
}

void requests_leave_when_all_is_answered(struct redis_requests *q)
{
    q->is_leaving = true;
    if (q->stats->in_flight == 0)
        redis_link_reset(q->link, "looking for a Redis that takes writes");
}

/* ---- for the store ---- */

struct redis_requests *
redis_requests_new(struct loop *loop, const struct redis_store_options *options,
                   struct redis_store_stats *stats, struct redis_link *link,
                   struct redis_handshake *handshake, struct redis_replicas *replicas)
{
    struct redis_requests *q = calloc(1, sizeof(*q));

    if (!q)
        abort();
    q->options = options;
    q->stats = stats;
    q->link = link;
    q->handshake = handshake;
    q->replicas = replicas;
    q->timers = &loop->timers;
    q->keys = (struct script_keys){options->prefix, options->buckets};
    redis_gate_init(&q->gate, options, stats, link, q->timers);
    redis_hold_init(&q->hold, q->timers, &stats->held, on_expired);
    request_pool_init(q);
    return q;
}

void redis_requests_tell(struct redis_requests *q, const struct store_events *events)
{
    q->events = events;
}

void redis_requests_reload(struct redis_requests *q)
{
    redis_gate_reload(&q->gate, q->options);
    redis_hold_limit(&q->hold, q->options->hold_ms);
}

void redis_requests_free(struct redis_requests *q)
{
    if (!q)
        return;
    assert(q->unfinished == 0);
    request_pool_fini(q);
    redis_hold_fini(&q->hold);
    redis_gate_fini(&q->gate);
    free(q);
}

void redis_requests_open(struct redis_requests *q)
{
    q->is_open = true;
    q->is_leaving = false;
    redis_hold_mark(&q->hold);
    redis_gate_fit(&q->gate);
    requests_send_held(q);
}

void redis_requests_close(struct redis_requests *q)
{
    q->is_open = false;
    drop_abandoned(q);
    redis_requests_failed(q);
}

/* A connection that is closed with nothing unanswered tells nothing of Redis. */
void redis_requests_failed(struct redis_requests *q)
{
    bool is_late = redis_link_was_late(q->link);

    if (!q->is_stopping && (is_late || q->stats->in_flight > 0))
        redis_gate_lost(&q->gate, is_late);
}

void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg)
{
    struct redis_held *held;

    q->is_stopping = true;
    while ((held = redis_hold_take(&q->hold))) {
        struct request *r = CONTAINER_OF(held, struct request, held);

        request_fail_later(r, request_unsent(r, STATUS_SHUTTING_DOWN));
    }
    q->on_idle = on_idle;
    q->idle_arg = arg;
    requests_say_when_idle(q);
}
