#include "node/store/redis/requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/later.h"
#include "base/log.h"
#include "node/store/redis/again.h"
#include "node/store/redis/complaints.h"
#include "node/store/redis/error.h"
#include "node/store/redis/hold.h"
#include "node/store/redis/reply.h"
#include "node/store/redis/scripts.h"

#define POOL_MAX 1024 /* requests kept for the next operations */

struct request {
    struct redis_call call;
    struct redis_requests *queue;
    struct op *op;
    struct redis_held held;
    struct list link; /* failing or in the pool; held and in flight: neither */
    size_t bytes;
    int64_t sent_us;
    int64_t wait_ms;   /* what a pop that is sent again was told on its way; -1: nothing */
    bool needs_text;   /* Redis has forgotten the script */
    bool may_have_run; /* its answer was lost; it is sent again, or waits for that */
};

struct redis_requests {
    const struct redis_store_options *options;
    struct redis_store_stats *stats;
    struct redis_link *link;
    struct redis_handshake *handshake;
    struct timers *timers;
    struct script_keys keys;

    unsigned unfinished;     /* requests whose on_done has not returned */
    struct redis_hold again; /* sent before, before what follows */
    struct redis_hold hold;
    struct later failing;
    struct list pool;
    unsigned pool_count;
    bool is_forgotten[OP_COUNT]; /* fenced: the next one brings the script's text */

    struct redis_complaints complaints;
    bool is_leaving; /* this connection is no good: the rest of its answers, then another */
    bool is_open;
    bool is_stopping;
    void (*on_idle)(void *arg); /* NULL: not asked for, or said */
    void *idle_arg;

    struct script_call encoded; /* the one that is being sent: too large for the stack */
    struct reply_room room;
};

/* ---- requests ---- */

static struct request *request_new(struct redis_requests *q, struct op *op)
{
    struct list *link = list_pop(&q->pool);
    struct request *r = link ? CONTAINER_OF(link, struct request, link) : malloc(sizeof(*r));

    if (!r)
        abort();
    if (link)
        q->pool_count--;
    *r = (struct request){.queue = q, .op = op, .bytes = script_bytes(op), .wait_ms = -1};
    list_init(&r->link);
    op->waits = NULL;
    q->stats->held_bytes += r->bytes;
    q->unfinished++;
    return r;
}

static void request_free(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->held_bytes -= r->bytes;
    if (q->pool_count == POOL_MAX) {
        free(r);
        return;
    }
    q->pool_count++;
    list_prepend(&q->pool, &r->link);
}

/* ---- the end of a request ---- */

static void say_when_idle(struct redis_requests *q)
{
    void (*on_idle)(void *arg) = q->on_idle;

    if (!on_idle || q->unfinished > 0)
        return;
    q->on_idle = NULL;
    on_idle(q->idle_arg);
}

/* -1: never. */
static int64_t sooner_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* The op's status and outputs are set. */
static void finish(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    op->waits = NULL;
    op->wait_ms = sooner_ms(op->wait_ms, r->wait_ms);
    request_free(r);
    op->on_done(op);
    q->unfinished--;
    say_when_idle(q);
}

static void fail(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->now_ms = 0;
    r->op->wait_ms = -1;
    finish(r);
}

/* Nothing is called back from inside a submission. */
static void fail_later(struct request *r, enum status status)
{
    r->op->status = status;
    later_add(&r->queue->failing, &r->link);
}

static void tell_failing(struct later *later, struct list *link)
{
    struct request *r = CONTAINER_OF(link, struct request, link);

    fail(r, r->op->status);
}

/* Of one that is held: what it ends with when it is not sent any more. */
static enum status unsent(const struct request *r, enum status status)
{
    r->queue->stats->unknown += r->may_have_run;
    return r->may_have_run ? STATUS_UNKNOWN : status;
}

static void on_expired(struct redis_hold *hold, struct redis_held *held)
{
    struct request *r = CONTAINER_OF(held, struct request, held);

    r->queue->stats->expired++;
    fail(r, unsent(r, STATUS_UNAVAILABLE));
}

/* ---- sending ---- */

static bool is_connected(const struct redis_requests *q)
{
    return q->is_open && !q->is_leaving && redis_link_is_open(q->link);
}

static bool can_send(const struct redis_requests *q)
{
    return is_connected(q) && q->stats->in_flight < q->options->flight_max;
}

static void on_reply(struct redis_call *call, const redisReply *reply);

static void send_now(struct request *r)
{
    struct redis_requests *q = r->queue;
    const char *sha = redis_handshake_sha(q->handshake, r->op->verb);
    struct script_call *call = &q->encoded;

    r->op->waits = NULL;
    script_encode(call, &q->keys, r->op, r->needs_text ? NULL : sha);
    r->call.on_reply = on_reply;
    r->sent_us = clock_mono_us();
    q->stats->in_flight++;
    redis_link_send(q->link, &r->call, call->argc, call->argv, call->lens);
}

static bool is_held(const struct redis_requests *q)
{
    return !redis_hold_is_empty(&q->again) || !redis_hold_is_empty(&q->hold);
}

/* In the order in which they came at first. */
static void send_held(struct redis_requests *q)
{
    while (can_send(q) && is_held(q)) {
        struct redis_held *held = redis_hold_take(&q->again);

        if (!held)
            held = redis_hold_take(&q->hold);
        send_now(CONTAINER_OF(held, struct request, held));
    }
}

/* ---- submitting ---- */

/* Now or not at all: that this node may act was asked for this moment. There are a few for each
 * bucket at most; were they to wait for room, an overload would keep what is due from moving.
 */
static void submit_fenced(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (!is_connected(q)) {
        fail_later(r, STATUS_UNAVAILABLE);
        return;
    }
    r->needs_text = q->is_forgotten[r->op->verb];
    q->is_forgotten[r->op->verb] = false;
    send_now(r);
}

void redis_requests_submit(struct redis_requests *q, struct op *op)
{
    struct request *r = request_new(q, op);
    bool is_first = !is_held(q);

    if (q->is_stopping) {
        fail_later(r, STATUS_SHUTTING_DOWN);
    } else if (op_is_fenced(op->verb)) {
        submit_fenced(r);
    } else if (q->stats->held_bytes > q->options->bytes_max ||
               q->stats->held >= q->options->held_max) {
        q->stats->overflowed++;
        fail_later(r, STATUS_TOO_MANY);
    } else if (is_first && can_send(q)) {
        send_now(r);
    } else {
        op->waits = r;
        redis_hold_add(&q->hold, &r->held, q->options->hold_ms);
    }
}

/* While there is a connection it waits for room only, and its turn is about to come. */
void redis_requests_abandon(struct redis_requests *q, struct op *op)
{
    struct request *r = op->waits;

    if (!r || !r->held.hold || is_connected(q))
        return;
    q->stats->dropped++;
    redis_hold_remove(&r->held);
    fail_later(r, STATUS_UNAVAILABLE);
}

/* ---- answers ---- */

/* It waits to be sent again. False: it is not to be. */
static bool hold_again(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (q->is_stopping || op_is_fenced(r->op->verb))
        return false;
    redis_hold_add(&q->again, &r->held, q->options->hold_ms);
    return true;
}

/* What else is on its way here is answered alike, and known to have not run. */
static void leave_when_all_is_answered(struct redis_requests *q)
{
    q->is_leaving = true;
    if (q->stats->in_flight == 0)
        redis_link_reset(q->link, "looking for a Redis that takes writes");
}

static void take_error(struct request *r, const char *error)
{
    struct redis_requests *q = r->queue;
    bool is_of_the_connection = redis_error_is_of_the_connection(error);

    q->stats->refused++;
    redis_complain_error(&q->complaints, timers_now(q->timers), r->op->verb, error);
    if (!is_of_the_connection || !hold_again(r))
        fail(r, r->op->status);
    if (is_of_the_connection)
        leave_when_all_is_answered(q);
}

/* Without running. A fenced one is not sent again, because much time may have passed. */
static void take_no_script(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->reloaded++;
    if (op_is_fenced(r->op->verb)) {
        q->is_forgotten[r->op->verb] = true;
        fail(r, STATUS_UNAVAILABLE);
        return;
    }
    r->needs_text = true;
    send_now(r);
}

/* What surely did not run is sent again: it was just answered, so there is a link and room. */
static void take_answer(struct request *r, const redisReply *reply)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    switch (reply_decode(reply, op, &q->room)) {
    case REPLY_DONE:
        q->stats->answered[op->verb]++;
        if (op->verb == OP_SCAN && op->status == STATUS_OK)
            redis_complain_stuck(&q->complaints, timers_now(q->timers), op);
        redis_handshake_saw(q->handshake, op->bucket, reply_counter(op, q->keys.buckets));
        if (r->may_have_run)
            op->status = redis_said_again(op->verb, op->status);
        finish(r);
        break;
    case REPLY_AGAIN:
        r->wait_ms = sooner_ms(r->wait_ms, op->wait_ms);
        send_now(r);
        break;
    case REPLY_NO_SCRIPT:
        if (!r->needs_text) {
            take_no_script(r);
            break;
        }
        op->status = STATUS_STORE_ERROR;
        /* fall through */
    case REPLY_REFUSED:
        take_error(r, reply->str);
        break;
    case REPLY_MALFORMED:
        q->stats->malformed++;
        LOG_ERROR("redis", "%s: the answer is not this script's", op_word(op->verb));
        fail(r, op->status);
        break;
    }
}

/* The answer will not come. What only reads cannot have happened. */
static void lose(struct request *r)
{
    bool is_read = op_is_read(r->op->verb);

    r->may_have_run |= !is_read;
    if (redis_may_say_again(r->op->verb) && hold_again(r))
        return;
    fail(r, unsent(r, STATUS_UNAVAILABLE));
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct request *r = CONTAINER_OF(call, struct request, call);
    struct redis_requests *q = r->queue;

    q->stats->in_flight--;
    if (!reply) {
        lose(r);
        return;
    }
    histogram_add(&q->stats->round_trip_us, clock_mono_us() - r->sent_us);
    take_answer(r, reply);
    if (q->is_leaving && q->is_open)
        leave_when_all_is_answered(q);
    send_held(q);
}

/* ---- for the store ---- */

struct redis_requests *redis_requests_new(struct loop *loop,
                                          const struct redis_store_options *options,
                                          struct redis_store_stats *stats,
                                          struct redis_link *link,
                                          struct redis_handshake *handshake)
{
    struct redis_requests *q = calloc(1, sizeof(*q));

    if (!q)
        abort();
    q->options = options;
    q->stats = stats;
    q->link = link;
    q->handshake = handshake;
    q->timers = &loop->timers;
    q->keys = (struct script_keys){options->prefix, options->buckets};
    redis_hold_init(&q->again, q->timers, &stats->held_again, on_expired);
    redis_hold_init(&q->hold, q->timers, &stats->held, on_expired);
    later_init(&q->failing, q->timers, tell_failing);
    list_init(&q->pool);
    return q;
}

void redis_requests_free(struct redis_requests *q)
{
    struct list *link;

    if (!q)
        return;
    assert(q->unfinished == 0);
    later_fini(&q->failing);
    redis_hold_fini(&q->again);
    redis_hold_fini(&q->hold);
    while ((link = list_pop(&q->pool)))
        free(CONTAINER_OF(link, struct request, link));
    free(q);
}

void redis_requests_open(struct redis_requests *q)
{
    q->is_open = true;
    q->is_leaving = false;
    send_held(q);
}

void redis_requests_close(struct redis_requests *q)
{
    q->is_open = false;
}

void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg)
{
    struct redis_held *held;

    q->is_stopping = true;
    while ((held = redis_hold_take(&q->again)) || (held = redis_hold_take(&q->hold))) {
        struct request *r = CONTAINER_OF(held, struct request, held);

        fail_later(r, unsent(r, STATUS_SHUTTING_DOWN));
    }
    q->on_idle = on_idle;
    q->idle_arg = arg;
    say_when_idle(q);
}
