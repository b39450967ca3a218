/* What an answer of Redis means for its request, and what it means that none comes. */
#include "node/store/redis/requests_private.h"

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/store/redis/again.h"
#include "node/store/redis/error.h"

/* -1: never. */
static int64_t sooner_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void take_done(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    q->stats->answered[op->verb]++;
    if (op->verb == OP_SCAN && op->status == STATUS_OK)
        redis_complain_scanned(&q->complaints, timers_now(q->timers), op);
    redis_past_saw(q->past, op->bucket, reply_counter(op, q->keys.buckets));
    if (request_is_of_all_lanes(r) && op->status == STATUS_OK)
        request_name_next_place(r);
    if (op->status == STATUS_OK)
        request_note_size(r);
    if (r->may_have_run)
        op->status = redis_said_again(op->verb, op->status);
    op->wait_ms = sooner_ms(op->wait_ms, r->wait_ms);
    request_keep_promise(r);
}

static void take_error(struct request *r, const char *error)
{
    struct redis_requests *q = r->queue;
    struct redis_lane *lane = r->lane; /* the request may be gone */
    bool is_of_the_connection = redis_error_is_of_the_connection(error);

    q->stats->refused++;
    redis_complain_error(&q->complaints, timers_now(q->timers), r->op, error);
    if (redis_error_refuses_writes(error))
        redis_handshake_look_soon(lane->handshake);
    if (!is_of_the_connection || !request_hold_again(r))
        request_fail(r, request_unsent(r, r->op->status));
    if (is_of_the_connection)
        redis_lane_leave(lane, error);
}

/* Without running. What was sent behind it may run first: after a SCRIPT FLUSH under way the
 * order is not kept. A fenced one is not sent again, because much time may have passed. */
static void take_no_script(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->reloaded++;
    if (op_is_fenced(r->op->verb)) {
        r->lane->is_forgotten[r->op->verb] = true;
        request_fail(r, STATUS_UNAVAILABLE);
        return;
    }
    r->needs_text = true;
    request_send(r, r->lane);
}

#define CLOCK_SAID_MS  1000
#define CLOCK_SAID_MAX 10 /* lines in that time */

static bool may_say(struct redis_clock *c, int64_t mono_ms)
{
    if (c->said == 0 || mono_ms - c->said_from_mono_ms >= CLOCK_SAID_MS) {
        c->said = 0;
        c->said_from_mono_ms = mono_ms;
    }
    return c->said++ < CLOCK_SAID_MAX;
}

/* What is due, and which lease is over, goes by that clock. */
static void read_clock(struct redis_requests *q, struct redis_lane *lane, int64_t theirs_ms,
                       int64_t sent_us)
{
    int64_t mono_ms = clock_mono_ms(), jump_ms;

    if (theirs_ms == 0)
        return;
    jump_ms = redis_clock_read(&lane->clock, theirs_ms, sent_us / 1000, mono_ms);
    if (jump_ms == 0)
        return;
    q->stats->clock_jumps++;
    if (!may_say(&lane->clock, mono_ms))
        return;
    LOG_WARN(
        "redis",
        "%s: its clock has jumped by %+lld ms against this host's: it was set, another Redis "
        "answers, or this host was asleep. What is due, and leases that run out, come early "
        "or late by as much",
        lane->name, (long long)jump_ms);
}

/* What surely did not run is sent again: it was just answered, so there is a link and room. */
static void take_answer(struct request *r, const redisReply *reply)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;
    enum reply_meaning meaning = reply_decode(reply, op, &q->room);

    requests_tried(r, meaning == REPLY_DONE || meaning == REPLY_LARGE);
    read_clock(q, r->lane, op->now_ms, r->sent_us);
    switch (meaning) {
    case REPLY_DONE:
        take_done(r);
        break;
    case REPLY_AGAIN:
        r->wait_ms = sooner_ms(r->wait_ms, op->wait_ms);
        request_send(r, r->lane);
        break;
    case REPLY_LARGE:
        request_hold_large(r, q->room.large_bytes);
        break;
    case REPLY_NO_SCRIPT:
        if (!r->needs_text) {
            take_no_script(r);
            break;
        }
        op->status = STATUS_STORE_ERROR;
        /* fall through */
    case REPLY_REFUSED:
        if (!request_redirect(r, reply->str))
            take_error(r, reply->str);
        break;
    case REPLY_MALFORMED:
        q->stats->malformed++;
        LOG_ERROR("redis", "%s: the answer is not this script's", op_word(op->verb));
        request_fail(r, op->status);
        break;
    }
}

/* The answer will not come. What only reads cannot have happened. */
static void lose(struct request *r)
{
    requests_tried(r, false);
    r->may_have_run |= !op_is_read(r->op->verb);
    if (redis_may_say_again(r->op->verb) && request_hold_again(r))
        return;
    request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
}

void requests_on_reply(struct redis_call *call, const redisReply *reply)
{
    struct request *r = CONTAINER_OF(call, struct request, call);
    struct redis_requests *q = r->queue;
    struct redis_lane *lane = r->lane;
    const struct redis_bucket *b = &q->route->buckets[r->op->bucket];

    q->stats->in_flight--;
    lane->in_flight--;
    lane->reply_bytes[r->kind] -= r->reply_bytes;
    if (reply) {
        redis_gate_answered(&lane->gate);
        histogram_add(&q->stats->round_trip_us, clock_mono_us() - r->sent_us);
        take_answer(r, reply);
        redis_lane_leave_when_answered(lane);
        redis_requests_send(q, lane);
    } else {
        lose(r);
    }
    if (b->lane && b->lane != lane) /* the bucket has gone elsewhere meanwhile */
        redis_requests_send(q, b->lane);
}
