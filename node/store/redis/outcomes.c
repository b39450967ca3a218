/* The end of an operation whose answer has come, or never will: a page of one master goes on at
 * the next, a redirection is followed, an answer is taken, and the caller is told.
 */
#include "node/store/redis/requests.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/store/redis/topology/slots.h"
#include "node/store/redis/wire/error.h"

/* ---- its end ---- */

#define POOL_MAX 1024 /* requests kept for the next operations */

static void tell_failing(struct later *later, struct list *link)
{
    struct request *r = CONTAINER_OF(link, struct request, link);

    request_fail(r, r->op->status);
}

void request_pool_init(struct redis_requests *q)
{
    list_init(&q->pool);
    later_init(&q->failing, q->timers, tell_failing);
}

void request_pool_fini(struct redis_requests *q)
{
    struct list *link;

    later_fini(&q->failing);
    while ((link = list_pop(&q->pool)))
        free(CONTAINER_OF(link, struct request, link));
}

struct request *request_new(struct redis_requests *q, struct op *op)
{
    struct list *link = list_pop(&q->pool);
    struct request *r =
        link ? CONTAINER_OF(link, struct request, link) : must(malloc(sizeof(*r)));

    if (link)
        q->pool_count--;
    *r = (struct request){.queue = q, .op = op, .bytes = script_bytes(op), .wait_ms = -1};
    r->held.number = ++q->submitted;
    list_init(&r->link);
    list_init(&r->held.link);
    op->waits = r;
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

void requests_say_when_idle(struct redis_requests *q)
{
    void (*on_idle)(void *arg) = q->on_idle;

    if (!on_idle || q->unfinished > 0)
        return;
    q->on_idle = NULL;
    on_idle(q->idle_arg);
}

/* The op's status and outputs are set. */
static void finish(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    op->waits = NULL;
    q->stats->unknown += op->status == STATUS_UNKNOWN;
    request_free(r);
    op->on_done(op);
    q->unfinished--;
    requests_say_when_idle(q);
}

void request_fail(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->now_ms = 0;
    r->op->wait_ms = r->wait_ms;
    finish(r);
}

void request_fail_later(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->waits = NULL;
    later_add(&r->queue->failing, &r->link);
}

enum status request_unsent(const struct request *r, enum status status)
{
    return r->may_have_run ? STATUS_UNKNOWN : status;
}

/* ---- a page of the key space ---- */

/* Where the key space lies at several masters, PLACES looks through one after the other. Its
 * cursor is "<lane>.<cursor of Redis>", with the lane's serial, so that a lane which has gone
 * meanwhile, or is away, is passed over: the next walk comes there again.
 */

bool request_is_of_all_lanes(const struct request *r)
{
    return r->op->verb == OP_PLACES && r->queue->route->is_cluster;
}

/* "": the first lane. Any cursor that is not ours counts as "". */
static unsigned read_serial(struct bytes cursor, struct bytes *of_redis)
{
    unsigned serial = 0;
    size_t at = 0;

    while (at < cursor.len && at < 9 && cursor.at[at] >= '0' && cursor.at[at] <= '9')
        serial = serial * 10 + (unsigned)(cursor.at[at++] - '0');
    if (at == cursor.len || cursor.at[at] != '.') {
        *of_redis = BYTES("");
        return 0;
    }
    *of_redis = bytes_of(cursor.at + at + 1, cursor.len - at - 1);
    return serial;
}

static struct redis_lane *lane_from(const struct request *r, unsigned serial)
{
    return redis_store_lane_from(r->queue->route->store, serial);
}

void request_send_to_its_lane(struct request *r)
{
    struct bytes cursor;
    struct redis_lane *lane = lane_from(r, read_serial(r->op->in.places.after, &cursor));

    if (lane) {
        request_send(r, lane);
    } else if (lane_from(r, 0)) { /* the lanes to come are away: it is the end */
        r->op->out.places.count = 0;
        r->op->out.places.next = BYTES("");
        request_fail_later(r, STATUS_OK);
    } else {
        request_fail_later(r, STATUS_UNAVAILABLE);
    }
}

/* Where the cursor's lane has gone, the next one is read from its beginning. */
struct bytes request_cursor(const struct request *r)
{
    struct bytes cursor;

    return read_serial(r->op->in.places.after, &cursor) == r->lane->serial ? cursor : BYTES("");
}

static void name_next_cursor(struct request *r)
{
    struct bytes *next = &r->op->out.places.next;
    char *text = r->queue->next_cursor;
    size_t size = sizeof(r->queue->next_cursor);
    const struct redis_lane *other;

    if (next->len > 0) {
        snprintf(text, size, "%u.%.*s", r->lane->serial, BYTES_ARG(*next));
    } else {
        other = lane_from(r, r->lane->serial + 1);
        if (!other)
            return;
        snprintf(text, size, "%u.0", other->serial);
    }
    *next = bytes_of_text(text);
}

/* ---- answers that say: not here (doc/redis-cluster.md) ---- */

/* The request has not run, or not to its end and without a trace, so it is sent again. One that
 * is never sent again ends UNAVAILABLE; its sender's next try finds the route mended.
 *
 * After ASK the request waits, too, until the bucket has moved. With ASKING the new master
 * would run the script, and would find no key that is not among its KEYS and still at the old
 * master.
 */

/* No news where the bucket goes by another lane meanwhile. */
static void mend(struct request *r, enum redis_redirect redirect,
                 const struct redis_address *to, const char *error)
{
    struct redis_requests *q = r->queue;
    unsigned bucket = r->op->bucket;

    if (q->route->buckets[bucket].lane != r->lane)
        return;
    if (redirect == REDIS_MOVED && !redis_address_equal(to, redis_lane_address(r->lane))) {
        redis_store_on_elsewhere(q->route->store, bucket, to);
        return;
    }
    redis_route_pause(q->route, bucket, redirect, to, error);
    if (redirect == REDIS_MOVED || redirect == REDIS_DOWN)
        redis_store_on_elsewhere(q->route->store, bucket, NULL);
}

static void count(struct redis_store_stats *stats, enum redis_redirect redirect)
{
    stats->moved += redirect == REDIS_MOVED;
    stats->asked += redirect == REDIS_ASK;
    stats->try_again += redirect == REDIS_TRY_AGAIN;
    stats->down += redirect == REDIS_DOWN;
}

/* Acts on an error that says where the bucket is. False: the error says nothing of that. True:
 * the request is done with. */
static bool take_redirect(struct request *r, const char *error)
{
    struct redis_requests *q = r->queue;
    enum redis_redirect redirect;
    struct redis_address to;

    if (!q->route->is_cluster)
        return false;
    redirect = redis_redirect_read(error, redis_lane_address(r->lane), &to);
    if (redirect == REDIS_NOT_REDIRECTED)
        return false;
    count(q->stats, redirect);
    mend(r, redirect, &to, error);
    if (!request_hold_again(r))
        request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
    return true;
}

/* ---- replicas ---- */

/* Between an answer of Redis and its request's end: an answer that promises something is told
 * when enough replicas have the write. Such a request is not in flight, so there may be
 * thousands; their bytes count.
 */

/* Promises: a job is there, or it never runs again. A client that was told `unknown` asks
 * again, and hears DUPLICATE or NOT_FOUND: the same promise. */
static bool needs_replicas(const struct op *op)
{
    enum status done_before = op->verb == OP_PUSH ? STATUS_DUPLICATE : STATUS_NOT_FOUND;

    return op_has(op->verb, TRAIT_REPLICATED) &&
           (op->status == STATUS_OK || op->status == done_before);
}

/* Copies outputs, because the reply will be gone. */
static void keep_outputs(struct request *r)
{
    struct bytes *id = &r->op->out.push.id;

    if (r->op->verb != OP_PUSH || r->op->status != STATUS_OK || r->op->id.len > 0)
        return;
    assert(id->len <= sizeof(r->id)); /* as reply_decode() promises */
    memcpy(r->id, id->at, id->len);
    *id = bytes_of(r->id, id->len);
}

/* For a push: an id that was left alone is not noted, because nothing has happened. */
static bool is_noted(const struct op *op)
{
    return op->verb == OP_PUSH && op->status == STATUS_OK &&
           !(op->in.push.mode == PUSH_IGNORE && op->out.push.existed);
}

/* A push counts as done, and so as one that can be lost, from when its client is told. */
static void tell(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (is_noted(r->op))
        push_ledger_done(q->marks->ledger, r->op->bucket, &r->note, timers_now(q->timers));
    finish(r);
}

static void on_waited(struct replica_wait *wait, bool is_safe)
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

/* A job due soon is moved in time, though its client is not told yet. */
static void tell_event(struct request *r)
{
    const struct store_events *events = r->queue->events;

    if (r->op->wait_ms >= 0 && events->on_event)
        events->on_event(events->arg, r->op->bucket, r->op->topic, r->op->wait_ms);
    r->op->wait_ms = -1;
}

/* The request is answered, its status and outputs are set. It ends at once, or when replicas
 * have the write. */
static void await_replicas(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (!r->lane->replicas || !needs_replicas(r->op)) {
        tell(r);
        return;
    }
    tell_event(r);
    keep_outputs(r);
    q->stats->replica_waits++;
    q->stats->waiting_for_replicas++;
    r->wait = (struct replica_wait){.on_end = on_waited};
    redis_replicas_wait(r->lane->replicas, &r->wait);
}

/* ---- what an answer of Redis, or a lost one, means for its request ---- */

/* The sooner of two waits; a wait of -1 never ends. */
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
        redis_throttle_scanned(&q->throttle, timers_now(q->timers), op);
    redis_marks_saw(q->marks, op->bucket, reply_counter(op, q->keys.buckets));
    if (request_is_of_all_lanes(r) && op->status == STATUS_OK)
        name_next_cursor(r);
    if (op->status == STATUS_OK)
        request_note_size(r);
    if (r->may_have_run)
        op->status = redis_retried_status(op->verb, op->status);
    op->wait_ms = sooner_ms(op->wait_ms, r->wait_ms);
    await_replicas(r);
}

static void take_error(struct request *r, const char *error)
{
    struct redis_requests *q = r->queue;
    struct redis_lane *lane = r->lane; /* the request may be gone */
    bool is_of_the_connection = redis_error_is_of_the_connection(error);

    q->stats->refused++;
    redis_throttle_error(&q->throttle, timers_now(q->timers), r->op, error);
    if (redis_error_refuses_writes(error))
        redis_handshake_look_soon(lane->handshake);
    if (!is_of_the_connection || !request_hold_again(r))
        request_fail(r, request_unsent(r, r->op->status));
    if (is_of_the_connection)
        redis_lane_leave(lane, error);
}

/* The script has not run. Requests sent after it may run first: order is not kept after a
 * SCRIPT FLUSH. A fenced request is not sent again, because much time may have passed. */
static void take_no_script(struct request *r)
{
    struct redis_requests *q = r->queue;

    q->stats->reloaded++;
    if (op_has(r->op->verb, TRAIT_FENCED)) {
        r->lane->is_forgotten[r->op->verb] = true;
        request_fail(r, STATUS_UNAVAILABLE);
        return;
    }
    r->needs_text = true;
    request_send(r, r->lane);
}

/* A request that surely did not run is sent again: the answer has just come, so there is a link
 * and room. */
static void take_answer(struct request *r, enum reply_meaning meaning, const redisReply *reply)
{
    struct redis_requests *q = r->queue;
    struct op *op = r->op;

    requests_tried(r, meaning == REPLY_DONE || meaning == REPLY_LARGE);
    redis_lane_read_clock(r->lane, op->now_ms, r->sent_us);
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
        if (!take_redirect(r, reply->str))
            take_error(r, reply->str);
        break;
    case REPLY_MALFORMED:
        q->stats->malformed++;
        LOG_ERROR("redis", "%s: the answer is not this script's", op_word(op->verb));
        request_fail(r, op->status);
        break;
    }
}

/* The answer will not come. A read cannot have changed anything. */
static void lose(struct request *r)
{
    requests_tried(r, false);
    r->may_have_run |= !op_has(r->op->verb, TRAIT_READS);
    if (op_has(r->op->verb, TRAIT_RETRIED) && request_hold_again(r))
        return;
    request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
}

/* Redis does not know the script of several any more. */
static bool needs_text_of_many(const struct request *first, const redisReply *reply)
{
    return first->count > 1 && !first->needs_text && reply->type == REDIS_REPLY_ERROR &&
           !strncmp(reply->str, "NOSCRIPT", 8);
}

/* It is in flight no more. Returns the next one of its call. */
static struct request *take_out(struct request *r)
{
    struct request *next = r->next;

    r->next = NULL;
    r->queue->stats->in_flight--;
    r->lane->in_flight--;
    r->lane->reply_bytes[r->kind] -= r->reply_bytes;
    return next;
}

/* A lane that is to be left waits for the last of what is in flight, and these were. */
void requests_on_unsent(struct request *first)
{
    struct redis_lane *lane = first->lane;
    struct request *next;

    for (struct request *r = first; r; r = next) {
        next = take_out(r);
        r->was_sent = false;
        requests_tried(r, false);
        if (!request_hold_again(r))
            request_fail_later(r,
                               request_unsent(r, r->queue->is_stopping ? STATUS_SHUTTING_DOWN
                                                                       : STATUS_UNAVAILABLE));
    }
    redis_lane_leave_when_answered(lane);
}

/* The requests of a call, each with its own part of the answer. */
static void take_answers(struct request *first, const redisReply *reply)
{
    unsigned i = 0, count = first->count;
    struct request *next;

    first->queue->stats->calls += reply != NULL;
    for (struct request *r = first; r; r = next, i++) {
        struct redis_requests *q = r->queue;

        next = take_out(r);
        if (reply) {
            redis_lane_answered(r->lane);
            histogram_add(&q->stats->round_trip_us, clock_mono_us() - r->sent_us);
        }
        if (!reply)
            lose(r);
        else if (count > 1)
            take_answer(r, reply_decode_one(reply, i, count, r->op), reply);
        else
            take_answer(r, reply_decode(reply, r->op, &q->room), reply);
    }
}

void requests_on_reply(struct redis_call *call, const redisReply *reply)
{
    struct request *first = CONTAINER_OF(call, struct request, call);
    struct redis_requests *q = first->queue;
    struct redis_lane *lane = first->lane;
    const struct redis_bucket *b = &q->route->buckets[first->op->bucket];

    if (reply && needs_text_of_many(first, reply)) {
        q->stats->reloaded++;
        first->needs_text = true;
        request_send_call(first);
        return;
    }
    take_answers(first, reply);
    if (reply) {
        redis_lane_leave_when_answered(lane);
        redis_requests_send(q, lane);
    }
    if (b->lane && b->lane != lane) /* the bucket has gone elsewhere meanwhile */
        redis_requests_send(q, b->lane);
}
