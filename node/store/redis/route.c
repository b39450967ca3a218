#include "node/store/redis/route.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/topology/slots.h"

#define PAUSE_MS     20   /* a key moves in less, a slot in more */
#define AGAIN_MAX_MS 250  /* of a bucket in fault, between two questions */
#define PATIENCE_MS  1000 /* most slots have moved by then */
#define QUIET_MS     3000 /* without a pause, and the fault is over */
#define SAY_MS       60000
#define HOPS_MAX     3 /* more in a row, and two masters name each other */

/* A question to a bucket, while in flight. Its own memory, because the bucket may have gone
 * elsewhere meanwhile. */
struct raise_question {
    struct redis_call call;
    struct redis_bucket *bucket;
    struct redis_lane *lane;
};

static void enter(struct redis_bucket *b, enum redis_bucket_state state)
{
    static const bool may[4][4] = {
        [BUCKET_NOWHERE] = {[BUCKET_RAISING] = true},
        [BUCKET_RAISING] = {[BUCKET_NOWHERE] = true, [BUCKET_OPEN] = true},
        [BUCKET_OPEN] =
            {[BUCKET_NOWHERE] = true, [BUCKET_RAISING] = true, [BUCKET_PAUSED] = true},
        [BUCKET_PAUSED] = {[BUCKET_NOWHERE] = true, [BUCKET_OPEN] = true},
    };
    struct redis_route *r = b->route;
    bool was_reached = redis_bucket_is_reached(b);

    assert(may[b->state][state]);
    b->state = state;
    b->is_raised = false;
    b->probe = NULL;
    timer_disarm(r->timers, &b->timer);
    r->reached += (unsigned)redis_bucket_is_reached(b) - was_reached;
    if (state == BUCKET_OPEN)
        redis_store_on_bucket_open(r->store, b->number);
    else if (was_reached && !redis_bucket_is_reached(b))
        redis_store_on_bucket_shut(r->store, b->number);
}

/* ---- asking ---- */

static void tell_rollback(struct redis_route *r)
{
    struct redis_rollback found = r->marks->found;
    char text[256];

    if (found.buckets == 0)
        return;
    r->marks->found = (struct redis_rollback){0};
    redis_rollback_describe(&found, text, sizeof(text));
    LOG_ERROR("redis", "%s", text);
    redis_store_on_rollback(r->store, &found);
}

/* Ends the round when all buckets asked have answered, or have gone elsewhere. */
static void end_round(struct redis_route *r, struct redis_lane *l)
{
    if (!r->is_ours || l->raising > 0 || !l->is_ready || !redis_link_is_open(l->link))
        return;
    tell_rollback(r);
    if (!l->is_usable) {
        redis_lane_set_usable(l);
        redis_store_on_usable(r->store, l);
    }
    for (unsigned i = 0; i < r->count; i++) {
        struct redis_bucket *b = &r->buckets[i];

        if (b->lane == l && b->is_raised) {
            b->is_probing = b->heard_mono_ms != 0;
            b->hops = 0;
            enter(b, BUCKET_OPEN);
        }
    }
    redis_store_on_route_turned(r->store, l);
}

static void ask_later(struct redis_bucket *b)
{
    timer_arm(b->route->timers, &b->timer, b->again_ms);
    b->again_ms = b->again_ms * 2 < AGAIN_MAX_MS ? b->again_ms * 2 : AGAIN_MAX_MS;
}

/* ---- fault ---- */

static void forget_fault(struct redis_bucket *b)
{
    b->again_ms = PAUSE_MS;
    b->fault_mono_ms = b->heard_mono_ms = 0;
    b->fault[0] = '\0';
}

static void name_fault(struct redis_bucket *b, enum redis_redirect redirect,
                       const struct redis_address *to, const char *error)
{
    static const char fix[] = "redis-cli --cluster fix, if nobody moves it";
    char address[REDIS_ADDRESS_CHARS];

    if (redirect == REDIS_ASK) {
        redis_address_print(to, address);
        snprintf(b->fault, sizeof(b->fault), "its slot is on its way to %.40s; %s", address,
                 fix);
    } else if (redirect == REDIS_DOWN) {
        snprintf(b->fault, sizeof(b->fault), "%s", error);
    } else if (!*b->fault) {
        snprintf(b->fault, sizeof(b->fault), "its slot is on its way to another master; %s",
                 fix);
    }
}

static void note_fault(struct redis_bucket *b, enum redis_redirect redirect,
                       const struct redis_address *to, const char *error)
{
    int64_t now_ms = timers_now(b->route->timers);

    if (now_ms - b->heard_mono_ms > QUIET_MS)
        forget_fault(b);
    if (b->fault_mono_ms == 0)
        b->fault_mono_ms = now_ms;
    b->heard_mono_ms = now_ms;
    name_fault(b, redirect, to, error);
}

/* False: it is no redirection. */
static bool redirect(struct redis_bucket *b, const redisReply *reply)
{
    struct redis_route *r = b->route;
    enum redis_redirect redirect = REDIS_NOT_REDIRECTED;
    struct redis_address to;

    if (r->is_cluster && reply->type == REDIS_REPLY_ERROR)
        redirect = redis_redirect_read(reply->str, redis_lane_address(b->lane), &to);
    if (redirect == REDIS_NOT_REDIRECTED)
        return false;
    note_fault(b, redirect, &to, reply->str);
    ask_later(b);
    b->hops += redirect == REDIS_MOVED;
    if (redirect == REDIS_MOVED || redirect == REDIS_DOWN)
        redis_store_on_elsewhere(r->store, b->number, redirect == REDIS_MOVED ? &to : NULL);
    return true;
}

/* A key of the bucket is of a wrong type: the script names it. The other buckets go on. Logged
 * once, until the bucket comes to a lane anew. */
static bool is_damaged(struct redis_bucket *b, const redisReply *reply)
{
    char fault[sizeof(b->fault)];

    if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "DUEQ ", 5) != 0)
        return false;
    snprintf(fault, sizeof(fault), "%s", reply->str + 5);
    if (strcmp(fault, b->fault) != 0)
        LOG_ERROR("redis",
                  "%s: bucket %u stands still, the others go on: %s; rename the key away "
                  "(doc/store.md, Keys of a wrong type)",
                  b->lane->name, b->number, fault);
    memcpy(b->fault, fault, sizeof(fault));
    ask_later(b);
    return true;
}

static void refuse(struct redis_bucket *b, const redisReply *reply)
{
    char what[64];

    snprintf(what, sizeof(what), "the counter of bucket %u cannot be raised", b->number);
    redis_handshake_refuse(b->lane->handshake, what, reply);
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct raise_question *q = CONTAINER_OF(call, struct raise_question, call);
    struct redis_bucket *b = q->bucket;
    struct redis_lane *l = q->lane;
    bool matters = b->question == q;

    free(q);
    if (!matters)
        return;
    b->question = NULL;
    l->raising--;
    if (!reply)
        return;
    if (redis_rollback_take(b->route->marks, b->number,
                            redis_handshake_incarnation(l->handshake), reply))
        b->is_raised = true;
    else if (!redirect(b, reply) && !is_damaged(b, reply))
        refuse(b, reply);
    end_round(b->route, l);
}

static void ask(struct redis_bucket *b)
{
    struct raise_question *q = must(calloc(1, sizeof(*q)));
    struct redis_lane *l = b->lane;
    struct script_call call;

    *q = (struct raise_question){.call.on_reply = on_reply, .bucket = b, .lane = l};
    b->question = q;
    l->raising++;
    redis_rollback_ask(b->route->marks, &call, &b->route->keys, b->number,
                       redis_handshake_incarnation(l->handshake));
    redis_link_send(l->link, &q->call, call.argc, call.argv, call.lens);
}

/* A lane whose link has just been given up is about to be closed. */
static void raise_bucket(struct redis_bucket *b)
{
    struct redis_lane *l = b->lane;

    if (!b->route->is_ours || !l || !l->is_ready || !redis_link_is_open(l->link))
        return;
    enter(b, BUCKET_RAISING);
    forget_fault(b);
    if (b->hops > HOPS_MAX)
        ask_later(b);
    else
        ask(b);
}

/* ---- going elsewhere ---- */

static void leave(struct redis_bucket *b)
{
    if (b->question) {
        b->question = NULL;
        b->lane->raising--;
    }
    if (b->state != BUCKET_NOWHERE)
        enter(b, BUCKET_NOWHERE);
}

void redis_route_set(struct redis_route *r, unsigned bucket, struct redis_lane *l)
{
    struct redis_bucket *b = &r->buckets[bucket];
    struct redis_lane *before = b->lane;

    if (before == l)
        return;
    leave(b);
    b->lane = l;
    raise_bucket(b);
    if (before)
        end_round(r, before);
    if (l && l->is_ready)
        end_round(r, l);
}

/* ---- time ---- */

static void on_timer(struct timer *timer)
{
    struct redis_bucket *b = CONTAINER_OF(timer, struct redis_bucket, timer);
    struct redis_lane *l = b->lane;

    if (b->state == BUCKET_RAISING && !b->question && !b->is_raised &&
        redis_link_is_open(l->link)) {
        ask(b);
    } else if (b->state == BUCKET_PAUSED) {
        b->is_probing = true;
        enter(b, BUCKET_OPEN);
        redis_store_on_route_turned(b->route->store, l);
    }
}

/* Where many buckets are in fault at once, one is logged. */
static void say_fault(struct redis_bucket *b)
{
    struct redis_route *r = b->route;

    if (r->said_mono_ms > 0 && b->heard_mono_ms - r->said_mono_ms < SAY_MS)
        return;
    r->said_mono_ms = b->heard_mono_ms;
    LOG_WARN("redis", "%s: bucket %u, and perhaps others, stand still: %s", b->lane->name,
             b->number, b->fault);
}

/* Tells all who wait for the bucket; then asks the bucket whether it can go on. */
static void give_up(struct redis_bucket *b)
{
    say_fault(b);
    enter(b, BUCKET_RAISING);
    ask_later(b);
    redis_store_on_route_turned(b->route->store, b->lane);
}

void redis_route_pause(struct redis_route *r, unsigned bucket, enum redis_redirect redirect,
                       const struct redis_address *to, const char *error)
{
    struct redis_bucket *b = &r->buckets[bucket];

    if (b->state != BUCKET_OPEN)
        return;
    note_fault(b, redirect, to, error);
    if (redirect == REDIS_DOWN || b->heard_mono_ms - b->fault_mono_ms >= PATIENCE_MS) {
        give_up(b);
        return;
    }
    enter(b, BUCKET_PAUSED);
    timer_arm(r->timers, &b->timer, PAUSE_MS);
}

/* ---- for the store ---- */

void redis_route_init(struct redis_route *r, const struct script_keys *keys,
                      struct redis_marks *marks, struct timers *timers,
                      struct redis_store *store, bool is_cluster)
{
    *r = (struct redis_route){.count = keys->buckets,
                              .keys = *keys,
                              .marks = marks,
                              .timers = timers,
                              .store = store,
                              .is_cluster = is_cluster};
    for (unsigned i = 0; i < r->count; i++) {
        r->buckets[i].route = r;
        r->buckets[i].number = i;
        timer_init(&r->buckets[i].timer, on_timer);
    }
}

void redis_route_fini(struct redis_route *r)
{
    for (unsigned i = 0; i < r->count; i++)
        timer_disarm(r->timers, &r->buckets[i].timer);
}

void redis_route_lane_ready(struct redis_route *r, struct redis_lane *l)
{
    if (!r->is_ours)
        return;
    for (unsigned i = 0; i < r->count; i++) {
        if (r->buckets[i].lane == l && r->buckets[i].state == BUCKET_NOWHERE)
            raise_bucket(&r->buckets[i]);
    }
    end_round(r, l);
}

void redis_route_lane_closed(struct redis_route *r, struct redis_lane *l)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (r->buckets[i].lane == l)
            leave(&r->buckets[i]);
    }
    redis_store_on_route_turned(r->store, l);
}

unsigned redis_route_count(const struct redis_route *r, const struct redis_lane *l)
{
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++)
        count += r->buckets[i].lane == l;
    return count;
}
