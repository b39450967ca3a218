#include "node/store/redis/requests.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/crc16.h"

/* ---- where to ---- */

static struct redis_bucket *bucket_of(const struct request *r)
{
    return &r->queue->route->buckets[r->op->bucket];
}

static struct request_line *line_of(const struct request *r)
{
    return &r->queue->lines[r->op->bucket][r->kind];
}

/* The `i`-th of all lines. */
static struct request_line *line_at(struct redis_requests *q, unsigned i)
{
    return &q->lines[i / REDIS_REPLY_KINDS][i % REDIS_REPLY_KINDS];
}

static bool is_connected(const struct redis_bucket *b)
{
    return b->state == BUCKET_OPEN && redis_lane_is_connected(b->lane);
}

static bool can_send(const struct redis_bucket *b)
{
    bool is_probe_out = b->is_probing && b->probe;

    return is_connected(b) && !is_probe_out && redis_lane_has_room(b->lane);
}

static void mark_runnable(struct redis_requests *q, unsigned bucket)
{
    for (unsigned kind = 0; kind < REDIS_REPLY_KINDS; kind++) {
        struct request_line *line = &q->lines[bucket][kind];

        if (!list_is_linked(&line->runnable) && !redis_hold_is_empty(&line->hold))
            list_append(&q->route->buckets[bucket].lane->runnable[kind], &line->runnable);
    }
}

/* ---- large replies ----
 *
 * A request of some bytes may have a reply of a million. Redis keeps replies until they are
 * read, so what is to come is limited by its bytes, not only by the number of operations.
 * Bodies are first asked for with a limit, which counts as long as nobody knows better; where
 * that is too little the answer says how large they are. Each kind waits in a line of its own,
 * so that no small one waits behind a large one.
 */
#define UNASKED_BYTES 32768
#define ROW_BYTES     512 /* about, of a page */
#define JOB_ROW_BYTES (ROW_BYTES + ATTRIBUTES_MAX_BYTES)

static size_t last_pop_bytes(const struct redis_requests *q, const struct op *op)
{
    uint16_t topic = crc16(op->topic);

    return q->large_pops[topic % 256].topic == topic ? q->large_pops[topic % 256].bytes : 0;
}

static void note_pop_bytes(struct redis_requests *q, const struct op *op, size_t bytes)
{
    uint16_t topic = crc16(op->topic);

    q->large_pops[topic % 256].topic = topic;
    q->large_pops[topic % 256].bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

void request_note_size(const struct request *r)
{
    const struct op *op = r->op;
    size_t bytes = 0;

    if (op->verb != OP_POP || r->kind != REDIS_REPLY_LARGE || op->out.pop.count == 0)
        return;
    for (unsigned i = 0; i < op->out.pop.count; i++)
        bytes += op->out.pop.jobs[i].body.len;
    if (bytes <= UNASKED_BYTES)
        note_pop_bytes(r->queue, op, 0);
}

/* 0: not large, or not known. */
static size_t expected_bytes(const struct redis_requests *q, const struct op *op)
{
    switch (op->verb) {
    case OP_POP:
        return last_pop_bytes(q, op);
    case OP_LIST:
        return op->in.list.limit * (size_t)JOB_ROW_BYTES;
    case OP_TRACE:
        return op->in.trace.limit * (size_t)ROW_BYTES;
    case OP_TOPICS:
        return op->in.topics.limit * (size_t)ROW_BYTES;
    default:
        return 0;
    }
}

static void expect_reply(struct request *r)
{
    r->reply_bytes = expected_bytes(r->queue, r->op);
    if (r->reply_bytes > 0) {
        r->kind = REDIS_REPLY_LARGE;
    } else if (op_has(r->op->verb, TRAIT_BODIES)) {
        r->kind = REDIS_REPLY_UNKNOWN;
        r->reply_bytes = UNASKED_BYTES;
    }
}

/* A reply larger than the limit comes alone. */
static bool has_reply_room(const struct request *r, const struct redis_lane *lane)
{
    size_t bytes = lane->reply_bytes[r->kind];

    return bytes == 0 || bytes + r->reply_bytes <= r->queue->options->replies_max;
}

/* Requests that wait for room, of any bucket, go first: else a large one never finds room where
 * smaller ones come all the time. Where no reply of the kind is to come, none waits for room.
 */
static bool may_take_reply_room(const struct request *r, const struct redis_lane *lane)
{
    return lane->reply_bytes[r->kind] == 0 ||
           (list_is_empty(&lane->runnable[r->kind]) && has_reply_room(r, lane));
}

/* ---- sending ---- */

/* A push that surely has not run gets a new number each time: with its old number it could take
 * the entry of a later push. False: nobody can tell any more whether the push has run. */
static bool take_note(struct request *r)
{
    struct push_ledger *ledger = r->queue->marks->ledger;
    int64_t now_ms = timers_now(r->queue->timers);

    if (r->may_have_run)
        return push_ledger_retry(ledger, r->op->bucket, &r->note, now_ms);
    r->note = push_ledger_next(ledger, r->op->bucket, now_ms);
    return true;
}

/* Their notes follow each other, so that one piece of the ring has them all. */
static void encode_many(struct request *first)
{
    struct redis_requests *q = first->queue;
    unsigned script = script_of_many(first->op->verb);
    const char *sha =
        first->needs_text ? NULL : redis_handshake_sha(first->lane->handshake, script);
    const struct op *ops[SCRIPT_MANY_MAX];
    struct push_note note = {0};
    unsigned count = 0;

    for (struct request *r = first; r; r = r->next) {
        ops[count++] = r->op;
        if (r->op->verb != OP_PUSH)
            continue;
        r->note = push_ledger_next(q->marks->ledger, r->op->bucket, timers_now(q->timers));
        if (r == first)
            note = r->note;
    }
    script_encode_many(&q->encoded, &q->keys, ops, count, &note, sha);
}

static void encode(struct request *r)
{
    struct redis_requests *q = r->queue;
    const char *sha =
        r->needs_text ? NULL : redis_handshake_sha(r->lane->handshake, r->op->verb);

    if (r->op->verb == OP_PUSH) {
        script_encode_push(&q->encoded, &q->keys, r->op, &r->note, sha);
    } else if (request_is_of_all_lanes(r)) {
        struct op op = *r->op;

        op.in.places.after = request_cursor(r);
        script_encode(&q->encoded, &q->keys, &op, sha);
    } else {
        script_encode(&q->encoded, &q->keys, r->op, sha);
    }
    if (op_has(r->op->verb, TRAIT_BODIES))
        call_add_number(&q->encoded, (int64_t)r->reply_bytes);
}

/* Of several on their way the first is the probe; a request to a whole master says nothing of
 * one bucket. */
static bool is_next_probe(const struct request *r)
{
    const struct redis_bucket *b = bucket_of(r);

    return b->is_probing && !b->probe && b->lane == r->lane && !request_is_of_all_lanes(r);
}

/* The call is encoded; its requests count as sent from now. */
static void send_call(struct request *first)
{
    struct script_call *call = &first->queue->encoded;
    int64_t now_us = clock_mono_us();

    for (struct request *r = first; r; r = r->next)
        r->sent_us = now_us;
    first->call.on_reply = requests_on_reply;
    redis_lane_asked(first->lane);
    redis_link_send(first->lane->link, &first->call, call->argc, call->argv, call->lens);
}

/* Behind the ring's end it begins anew: those that do not fit go in a call of their own. */
static struct request *cut_at_the_rings_end(struct request *first)
{
    struct redis_requests *q = first->queue;
    struct request *last = first, *rest;
    unsigned room = push_ledger_room(q->marks->ledger, first->op->bucket);

    if (first->op->verb != OP_PUSH || first->count <= room)
        return NULL;
    for (unsigned i = 1; i < room; i++)
        last = last->next;
    rest = last->next;
    rest->last = first->last;
    rest->count = first->count - room;
    last->next = NULL;
    first->last = last;
    first->count = room;
    return rest;
}

void request_send_call(struct request *first)
{
    while (first) {
        struct request *rest = cut_at_the_rings_end(first);

        if (first->count > 1) {
            encode_many(first);
        } else {
            if (first->op->verb == OP_PUSH)
                (void)take_note(first); /* it is no retry */
            encode(first);
        }
        send_call(first);
        first = rest;
    }
}

void request_send(struct request *r, struct redis_lane *lane)
{
    struct redis_requests *q = r->queue;
    bool is_gathered = request_may_share(r);

    r->was_sent = true;
    if (!is_gathered && r->op->verb == OP_PUSH && !take_note(r)) {
        request_fail_later(r, request_unsent(r, STATUS_UNKNOWN));
        return;
    }
    r->lane = lane;
    r->next = NULL;
    r->last = r;
    r->count = 1;
    r->bytes_of_all = r->bytes;
    q->stats->in_flight++;
    lane->in_flight++;
    lane->reply_bytes[r->kind] += r->reply_bytes;
    if (is_next_probe(r))
        bucket_of(r)->probe = r;
    if (is_gathered) {
        request_gather(r);
        return;
    }
    request_send_gathered_before(r);
    encode(r);
    send_call(r);
}

/* The next request of the bucket that has waited longest for its turn. */
static struct request *take_runnable(struct redis_requests *q, struct redis_lane *lane,
                                     unsigned kind)
{
    struct list *link;

    while ((link = list_first(&lane->runnable[kind]))) {
        struct request_line *line = CONTAINER_OF(link, struct request_line, runnable);
        const struct redis_bucket *b = &q->route->buckets[line->bucket];
        struct redis_held *held = can_send(b) ? redis_hold_first(&line->hold) : NULL;

        if (held && !has_reply_room(CONTAINER_OF(held, struct request, held), lane))
            return NULL; /* it is the next one */
        list_remove(link);
        if (!held)
            continue;
        redis_hold_remove(&line->hold, held);
        mark_runnable(q, b->number);
        return CONTAINER_OF(held, struct request, held);
    }
    return NULL;
}

static struct request *take_next(struct redis_requests *q, struct redis_lane *lane)
{
    struct request *r = NULL;

    for (unsigned i = 0; !r && i < REDIS_REPLY_KINDS; i++) {
        r = take_runnable(q, lane, lane->next_kind);
        lane->next_kind = (lane->next_kind + 1) % REDIS_REPLY_KINDS;
    }
    return r;
}

void redis_requests_send(struct redis_requests *q, struct redis_lane *lane)
{
    struct request *r;

    while (redis_lane_is_connected(lane) && redis_lane_has_room(lane) &&
           (r = take_next(q, lane)))
        request_send(r, lane);
}

void requests_tried(struct request *r, bool is_answered_well)
{
    struct redis_bucket *b = bucket_of(r);

    if (b->probe != r)
        return;
    b->probe = NULL;
    if (b->state != BUCKET_OPEN)
        return;
    b->is_probing &= !is_answered_well;
    mark_runnable(r->queue, b->number);
}

/* ---- submitting ---- */

/* Sent now or not at all: whether this node may act was asked for this moment only. At most a
 * few per bucket exist; they wait for no room, because then an overload would keep due jobs
 * from moving.
 */
static void submit_fenced(struct request *r)
{
    const struct redis_bucket *b = bucket_of(r);
    bool *is_forgotten;

    if (!redis_bucket_is_reached(b) || !redis_lane_is_connected(b->lane)) {
        request_fail_later(r, STATUS_UNAVAILABLE);
        return;
    }
    is_forgotten = &b->lane->is_forgotten[r->op->verb];
    r->needs_text = *is_forgotten;
    *is_forgotten = false;
    request_send(r, b->lane);
}

static bool is_refused(const struct request *r)
{
    const struct redis_lane *lane = bucket_of(r)->lane;

    return lane && breaker_refuses(&lane->breaker) && !op_has(r->op->verb, TRAIT_OF_LEASES);
}

static void hold(struct request *r)
{
    struct redis_requests *q = r->queue;
    struct redis_bucket *b = bucket_of(r);

    redis_hold_add(&line_of(r)->hold, &r->held, q->options->hold_ms);
    if (b->state == BUCKET_OPEN)
        mark_runnable(q, b->number);
    if (b->lane && !redis_lane_is_connected(b->lane))
        redis_lane_asked(b->lane);
}

/* A request that goes at once takes no place among those that wait. */
static bool is_full(const struct redis_requests *q, bool goes_now)
{
    return q->stats->held_bytes > q->options->bytes_max ||
           (!goes_now && q->stats->held >= q->options->held_max);
}

/* The breaker refuses no operation on jobs that the node has handed out: their consumers work
 * on them, and without it a second one would get the job soon. */
static void submit_for_anyone(struct request *r)
{
    struct redis_requests *q = r->queue;
    const struct redis_bucket *b = bucket_of(r);
    bool goes_now = can_send(b) && may_take_reply_room(r, b->lane) &&
                    redis_hold_is_empty(&line_of(r)->hold);

    if (is_refused(r)) {
        q->stats->broken++;
        request_fail_later(r, STATUS_UNAVAILABLE);
    } else if (is_full(q, goes_now)) {
        q->stats->overflowed++;
        request_fail_later(r, STATUS_TOO_MANY);
    } else if (goes_now) {
        request_send(r, b->lane);
    } else {
        hold(r);
    }
}

void redis_requests_submit(struct redis_requests *q, struct op *op)
{
    struct request *r = request_new(q, op);

    expect_reply(r);
    if (q->is_stopping)
        request_fail_later(r, STATUS_SHUTTING_DOWN);
    else if (op_has(op->verb, TRAIT_FENCED))
        submit_fenced(r);
    else if (request_is_of_all_lanes(r))
        request_send_to_its_lane(r);
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
    redis_hold_remove(&line_of(r)->hold, &r->held);
    request_fail_later(r, request_unsent(r, STATUS_UNAVAILABLE));
}

/* An abandoned read, unless it is there for another op, need not run. */
static bool is_of_no_use(const struct request *r)
{
    return r->is_abandoned && op_has(r->op->verb, TRAIT_READS) && !r->op->is_ahead;
}

/* A write that waits while there is a connection waits for room only, and its turn is near,
 * unless the connection turns out to be dead. A large read waits long, and then takes the room
 * of others. */
void redis_requests_abandon(struct redis_requests *q, struct op *op)
{
    struct request *r = op->waits;

    if (!r)
        return;
    r->is_abandoned = true;
    if (!list_is_linked(&r->held.link))
        return; /* it is on its way */
    if (is_of_no_use(r) || (!r->was_sent && !is_connected(bucket_of(r))))
        drop(r);
}

static void drop_abandoned(struct redis_hold *hold)
{
    LIST_EACH_SAFE (link, &hold->list) {
        struct redis_held *held = CONTAINER_OF(link, struct redis_held, link);
        struct request *r = CONTAINER_OF(held, struct request, held);

        if (r->is_abandoned && !r->was_sent)
            drop(r);
    }
}

void request_hold_large(struct request *r, size_t reply_bytes)
{
    struct redis_requests *q = r->queue;

    r->kind = REDIS_REPLY_LARGE;
    r->reply_bytes = reply_bytes;
    r->was_sent = false;
    if (r->op->verb == OP_POP)
        note_pop_bytes(q, r->op, reply_bytes);
    if (q->is_stopping) {
        request_fail(r, request_unsent(r, STATUS_SHUTTING_DOWN));
        return;
    }
    if (is_of_no_use(r)) {
        q->stats->dropped++;
        request_fail(r, request_unsent(r, STATUS_UNAVAILABLE));
        return;
    }
    redis_hold_put_back(&line_of(r)->hold, &r->held, q->options->hold_ms);
    if (bucket_of(r)->state == BUCKET_OPEN)
        mark_runnable(q, r->op->bucket);
}

bool request_hold_again(struct request *r)
{
    struct redis_requests *q = r->queue;

    if (q->is_stopping || op_has(r->op->verb, TRAIT_FENCED) || request_is_of_all_lanes(r) ||
        is_of_no_use(r))
        return false;
    q->stats->repeated++;
    redis_hold_put_back(&line_of(r)->hold, &r->held, q->options->hold_ms);
    if (bucket_of(r)->state == BUCKET_OPEN)
        mark_runnable(q, r->op->bucket);
    return true;
}

/* ---- for the store ---- */

struct redis_requests *redis_requests_new(struct loop *loop,
                                          const struct redis_store_options *options,
                                          struct redis_store_stats *stats,
                                          struct redis_route *route,
                                          const struct store_events *events)
{
    struct redis_requests *q = must(calloc(1, sizeof(*q)));

    q->options = options;
    q->stats = stats;
    q->route = route;
    q->marks = route->marks;
    q->events = events;
    q->timers = &loop->timers;
    q->keys = (struct script_keys){options->prefix, options->buckets,
                                   push_ledger_worker(q->marks->ledger)};
    for (unsigned i = 0; i < options->buckets; i++) {
        for (unsigned kind = 0; kind < REDIS_REPLY_KINDS; kind++) {
            struct request_line *line = &q->lines[i][kind];

            redis_hold_init(&line->hold, q->timers, &stats->held, on_expired);
            list_init(&line->runnable);
            line->bucket = i;
        }
    }
    request_pool_init(q);
    request_gather_init(&q->gathered, loop);
    return q;
}

void redis_requests_reload(struct redis_requests *q)
{
    for (unsigned i = 0; i < REDIS_REPLY_KINDS * q->options->buckets; i++)
        redis_hold_limit(&line_at(q, i)->hold, q->options->hold_ms);
}

void redis_requests_free(struct redis_requests *q)
{
    if (!q)
        return;
    assert(q->unfinished == 0);
    request_pool_fini(q);
    request_gather_fini(&q->gathered);
    for (unsigned i = 0; i < REDIS_REPLY_KINDS * q->options->buckets; i++) {
        redis_hold_fini(&line_at(q, i)->hold);
        list_remove(&line_at(q, i)->runnable);
    }
    free(q);
}

void redis_requests_opened(struct redis_requests *q, unsigned bucket)
{
    mark_runnable(q, bucket);
}

void redis_requests_shut(struct redis_requests *q, unsigned bucket)
{
    for (unsigned kind = 0; kind < REDIS_REPLY_KINDS; kind++) {
        list_remove(&q->lines[bucket][kind].runnable);
        drop_abandoned(&q->lines[bucket][kind].hold);
    }
}

bool redis_requests_wait_for(const struct redis_requests *q, const struct redis_lane *lane)
{
    for (unsigned i = 0; i < REDIS_REPLY_KINDS * q->options->buckets; i++) {
        const struct request_line *line =
            &q->lines[i / REDIS_REPLY_KINDS][i % REDIS_REPLY_KINDS];

        if (q->route->buckets[line->bucket].lane == lane && !redis_hold_is_empty(&line->hold))
            return true;
    }
    return false;
}

static void fail_held(struct redis_requests *q, struct redis_hold *hold)
{
    struct redis_held *held;

    while ((held = redis_hold_take(hold))) {
        struct request *r = CONTAINER_OF(held, struct request, held);

        request_fail_later(r, request_unsent(r, STATUS_SHUTTING_DOWN));
    }
}

void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg)
{
    q->is_stopping = true;
    for (unsigned i = 0; i < REDIS_REPLY_KINDS * q->options->buckets; i++)
        fail_held(q, &line_at(q, i)->hold);
    q->on_idle = on_idle;
    q->idle_arg = arg;
    requests_say_when_idle(q);
}
