#include "node/store/redis/replicas.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "base/log.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/wire/error.h"

struct redis_replicas {
    struct redis_replicas_options options;
    struct timers *timers;
    struct redis_link *link;
    struct redis_incarnation incarnation; /* of the Redis that is followed */
    bool is_usable;                       /* this connection has shown that incarnation */

    struct list asked;     /* the waits that the WAIT in flight is about */
    struct list waiting;   /* those that came since; all have the same patience: oldest first */
    struct later unsafe;   /* to be told that they are not safe */
    struct timer soon;     /* a pair is to be sent, for all that come in this turn */
    struct timer patience; /* of the oldest wait */

    struct redis_call info, ping, wait;
    bool is_asking; /* a pair is in flight */

    struct redis_last_error why; /* what was logged of too few replicas */
    bool is_behind;              /* that is logged, and not yet that there are enough */
    int64_t behind_mono_ms;      /* when a wait failed last */
};

static struct replica_wait *waiter_of(struct list *link)
{
    return CONTAINER_OF(link, struct replica_wait, link);
}

/* ---- what is said of it ---- */

static void note_few(struct redis_replicas *r)
{
    const char *why = redis_link_why(r->link);
    char text[REDIS_ERROR_CHARS];

    if (r->is_usable)
        snprintf(text, sizeof(text),
                 "fewer than %u confirm within %" PRId64 " ms (store.min_replicas): what is "
                 "answered meanwhile ends as unknown",
                 r->options.min_replicas, r->options.patience_ms);
    else
        snprintf(text, sizeof(text),
                 "without a connection nobody can be asked whether they confirm: what is "
                 "answered meanwhile ends as unknown%s%.128s",
                 *why ? "; " : "", why);
    redis_last_error_set(&r->why, LEVEL_WARN, "replicas", "", text, timers_now(r->timers));
    r->is_behind = true;
    r->behind_mono_ms = timers_now(r->timers);
}

/* A replica that confirms now and then must not fill the log, nor end it with good news. */
static void note_enough(struct redis_replicas *r)
{
    if (!r->is_behind || timers_now(r->timers) - r->behind_mono_ms < r->options.calm_ms)
        return;
    LOG_INFO("redis", "replicas: enough of them confirm again");
    redis_last_error_clear(&r->why);
    r->is_behind = false;
}

/* ---- the end of a wait ---- */

static void tell_unsafe(struct later *later, struct list *link)
{
    waiter_of(link)->on_end(waiter_of(link), false);
}

static void give_up(struct redis_replicas *r, struct list *waiters)
{
    struct list *link;

    while ((link = list_pop(waiters)))
        later_add(&r->unsafe, link);
}

static struct replica_wait *oldest(struct redis_replicas *r)
{
    struct list *link = list_first(&r->asked);

    if (!link)
        link = list_first(&r->waiting);
    return link ? waiter_of(link) : NULL;
}

/* An armed timer is left alone: where its wait has ended meanwhile it fires too soon, and finds
 * nothing. */
static void watch(struct redis_replicas *r)
{
    const struct replica_wait *first = oldest(r);

    if (first && !timer_is_armed(&r->patience))
        timer_arm(r->timers, &r->patience, first->until_mono_ms - timers_now(r->timers));
}

static void on_patience(struct timer *timer)
{
    struct redis_replicas *r = CONTAINER_OF(timer, struct redis_replicas, patience);
    struct replica_wait *w;

    while ((w = oldest(r)) && w->until_mono_ms <= timers_now(r->timers)) {
        note_few(r);
        list_remove(&w->link);
        later_add(&r->unsafe, &w->link);
    }
    watch(r);
}

/* ---- asking ---- */

static void ask_soon(struct redis_replicas *r)
{
    if (r->is_usable && !r->is_asking && !list_is_empty(&r->waiting) &&
        !timer_is_armed(&r->soon))
        timer_arm(r->timers, &r->soon, 0);
}

static void take_count(struct redis_replicas *r, int64_t count)
{
    struct list *link;

    if (count < r->options.min_replicas) {
        note_few(r);
        give_up(r, &r->asked);
        return;
    }
    note_enough(r);
    while ((link = list_pop(&r->asked)))
        waiter_of(link)->on_end(waiter_of(link), true);
}

/* An error: this is no master any more, or we may not ask. No WAIT here can be believed. */
static void refuse(struct redis_replicas *r, const redisReply *reply)
{
    redis_link_reset(r->link,
                     reply->type == REDIS_REPLY_ERROR ? reply->str : "a strange answer");
    redis_replicas_give_up(r);
}

/* Without PING, WAIT would be about an earlier command. */
static void on_ping(struct redis_call *call, const redisReply *reply)
{
    struct redis_replicas *r = CONTAINER_OF(call, struct redis_replicas, ping);

    if (reply && reply->type != REDIS_REPLY_STATUS)
        refuse(r, reply);
}

static void on_wait(struct redis_call *call, const redisReply *reply)
{
    struct redis_replicas *r = CONTAINER_OF(call, struct redis_replicas, wait);

    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_INTEGER) {
        refuse(r, reply);
        return;
    }
    r->is_asking = false;
    redis_link_settled(r->link);
    take_count(r, reply->integer);
    ask_soon(r);
}

static void send(struct redis_replicas *r, struct redis_call *call, int argc, const char **argv)
{
    size_t lens[3];

    for (int i = 0; i < argc; i++)
        lens[i] = strlen(argv[i]);
    redis_link_send(r->link, call, argc, argv, lens);
}

static void on_soon(struct timer *timer)
{
    struct redis_replicas *r = CONTAINER_OF(timer, struct redis_replicas, soon);
    char replicas[16], patience[24];
    const char *ping[] = {"PING"}, *wait[] = {"WAIT", replicas, patience};

    if (!r->is_usable || !redis_link_is_open(r->link) || list_is_empty(&r->waiting))
        return;
    snprintf(replicas, sizeof(replicas), "%u", r->options.min_replicas);
    snprintf(patience, sizeof(patience), "%" PRId64, r->options.patience_ms);
    list_append_all(&r->asked, &r->waiting);
    r->is_asking = true;
    r->ping.on_reply = on_ping;
    r->wait.on_reply = on_wait;
    send(r, &r->ping, 1, ping);
    send(r, &r->wait, 3, wait);
}

/* ---- a fresh connection ---- */

/* Where the process has changed its incarnation, earlier waits are given up; later writes can
 * be proved as any. */
static void take_incarnation(struct redis_replicas *r,
                             const struct redis_incarnation *incarnation)
{
    if (!redis_incarnation_goes_on(&r->incarnation, incarnation))
        redis_replicas_give_up(r);
    if (strcmp(incarnation->run_id, r->incarnation.run_id) != 0) {
        redis_link_reset(r->link, "not the Redis that has the jobs");
        return;
    }
    r->incarnation = *incarnation;
    r->is_usable = true;
    ask_soon(r);
}

static void on_info(struct redis_call *call, const redisReply *reply)
{
    struct redis_replicas *r = CONTAINER_OF(call, struct redis_replicas, info);
    struct redis_info info;

    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_STRING) {
        refuse(r, reply);
        return;
    }
    info = redis_info_read(bytes_of(reply->str, reply->len));
    take_incarnation(r, &info.incarnation);
}

static void on_open(void *arg)
{
    struct redis_replicas *r = arg;
    const char *argv[] = {"INFO"};

    r->info.on_reply = on_info;
    send(r, &r->info, 1, argv);
}

/* Waits of the lost WAIT are asked for again, and still come first. */
static void on_close(void *arg)
{
    struct redis_replicas *r = arg;

    r->is_usable = false;
    r->is_asking = false;
    list_append_all(&r->asked, &r->waiting);
    list_append_all(&r->waiting, &r->asked);
}

static void on_stopped(void *arg)
{
    struct redis_replicas *r = arg;

    r->options.on_stopped(r->options.arg);
}

/* ---- for the owner ---- */

struct redis_replicas *redis_replicas_new(struct loop *loop,
                                          const struct redis_replicas_options *options)
{
    struct redis_replicas *r = must(calloc(1, sizeof(*r)));
    struct redis_link_options link = {
        .name = "replicas' link",
        .login = options->login,
        .timeout_ms = options->timeout_ms + options->patience_ms,
        .backoff_max_ms = options->backoff_max_ms,
        .on_open = on_open,
        .on_close = on_close,
        .on_stopped = on_stopped,
        .arg = r,
    };

    r->options = *options;
    r->timers = &loop->timers;
    r->link = redis_link_new(loop, &link);
    list_init(&r->asked);
    list_init(&r->waiting);
    later_init(&r->unsafe, r->timers, tell_unsafe);
    timer_init(&r->soon, on_soon);
    timer_init(&r->patience, on_patience);
    return r;
}

void redis_replicas_free(struct redis_replicas *r)
{
    if (!r)
        return;
    assert(!oldest(r));
    timer_disarm(r->timers, &r->soon);
    timer_disarm(r->timers, &r->patience);
    later_fini(&r->unsafe);
    redis_link_free(r->link);
    free(r);
}

void redis_replicas_start(struct redis_replicas *r)
{
    redis_link_start(r->link);
}

void redis_replicas_follow(struct redis_replicas *r, const struct redis_address *address,
                           const struct redis_incarnation *incarnation)
{
    bool is_other = strcmp(incarnation->run_id, r->incarnation.run_id) != 0;

    if (!redis_incarnation_goes_on(&r->incarnation, incarnation))
        redis_replicas_give_up(r);
    r->incarnation = *incarnation;
    if (is_other && r->is_usable) {
        r->is_usable = false;
        redis_link_reset(r->link, "the jobs are in another Redis now");
    }
    redis_link_aim(r->link, address);
}

void redis_replicas_turn(struct redis_replicas *r, const struct redis_address *address)
{
    if (!redis_address_equal(address, redis_link_address(r->link)))
        redis_replicas_give_up(r);
}

void redis_replicas_wait(struct redis_replicas *r, struct replica_wait *w)
{
    w->until_mono_ms = timers_now(r->timers) + r->options.patience_ms;
    list_append(&r->waiting, &w->link);
    watch(r);
    ask_soon(r);
}

bool redis_replicas_is_idle(const struct redis_replicas *r)
{
    return list_is_empty(&r->asked) && list_is_empty(&r->waiting) && later_is_idle(&r->unsafe);
}

void redis_replicas_give_up(struct redis_replicas *r)
{
    give_up(r, &r->asked);
    give_up(r, &r->waiting);
}

void redis_replicas_stop(struct redis_replicas *r)
{
    redis_replicas_give_up(r);
    redis_link_stop(r->link);
}
