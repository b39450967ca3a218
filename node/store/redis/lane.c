#include "node/store/redis/lane.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define RETIRE_MS      1000 /* an answer comes within that, or its Redis is gone */
#define RETIRE_LOOK_MS 10

/* ---- what its breaker asks ---- */

static bool is_waited_for(void *arg)
{
    const struct redis_lane *l = arg;

    return l->in_flight > 0 || l->events.is_waited_for(l->events.arg, l);
}

static bool is_idle(void *arg)
{
    const struct redis_lane *l = arg;

    return redis_lane_is_connected(l) && l->in_flight == 0;
}

static void on_try(void *arg)
{
    struct redis_lane *l = arg;

    l->events.on_try(l->events.arg, l);
}

/* ---- what its parts say ---- */

static void on_look(void *arg)
{
    struct redis_lane *l = arg;

    l->events.on_look(l->events.arg);
}

static void on_open(void *arg)
{
    struct redis_lane *l = arg;

    redis_address_print(redis_link_address(l->link), l->name);
    l->has_shown_meta = l->has_meta;
    redis_handshake_start(l->handshake, l->has_meta);
}

/* A connection that closes with nothing unanswered says nothing of Redis. All held requests
 * wait for this Redis from now on, also those that waited for their bucket before. */
static void note_loss(struct redis_lane *l)
{
    bool is_late = redis_link_was_late(l->link);

    if (l->is_ending)
        return;
    if (is_late || l->in_flight > 0)
        redis_gate_lost(&l->gate, is_late);
    if (is_waited_for(l))
        redis_gate_asked(&l->gate);
}

static void on_silence(void *arg, bool is_silent)
{
    struct redis_lane *l = arg;

    l->is_silent = is_silent;
    l->events.on_turned(l->events.arg);
}

static void on_failed(void *arg)
{
    struct redis_lane *l = arg;

    note_loss(l);
    l->events.on_failed(l->events.arg, l);
}

static void on_close(void *arg)
{
    struct redis_lane *l = arg;

    l->is_ready = false;
    l->is_usable = false;
    l->is_silent = false;
    note_loss(l);
    if (l->replicas)
        redis_replicas_turn(l->replicas, redis_link_address(l->link));
    l->events.on_close(l->events.arg, l);
}

static void on_ready(void *arg)
{
    struct redis_lane *l = arg;

    l->is_ready = true;
    l->is_leaving = false;
    l->is_refused = false;
    l->events.on_ready(l->events.arg, l);
}

static void on_refused(void *arg, const char *why)
{
    struct redis_lane *l = arg;

    l->is_refused = true;
    l->events.on_refused(l->events.arg, why);
}

static void on_weak(void *arg, unsigned weak)
{
    struct redis_lane *l = arg;

    l->weak = weak;
    l->events.on_turned(l->events.arg);
}

static void on_breaker(void *arg)
{
    struct redis_lane *l = arg;

    l->events.on_turned(l->events.arg);
}

static void on_part_stopped(void *arg)
{
    struct redis_lane *l = arg;

    if (--l->parts_running > 0)
        return;
    l->is_stopped = true;
    l->events.on_stopped(l->events.arg, l);
}

/* ---- its end ---- */

static void on_retiring(struct timer *timer)
{
    struct redis_lane *l = CONTAINER_OF(timer, struct redis_lane, retiring);
    bool is_busy = l->in_flight > 0 || (l->replicas && !redis_replicas_is_idle(l->replicas));

    if (is_busy && timers_now(l->timers) < l->retired_mono_ms + RETIRE_MS)
        timer_arm(l->timers, timer, RETIRE_LOOK_MS);
    else
        redis_lane_stop(l);
}

void redis_lane_retire(struct redis_lane *l)
{
    l->is_retired = true;
    l->is_ending = true;
    l->retired_mono_ms = timers_now(l->timers);
    timer_arm(l->timers, &l->retiring, 0);
}

/* ---- making one ---- */

static struct redis_link *make_link(struct redis_lane *l, struct loop *loop,
                                    const struct redis_address *address)
{
    struct redis_link_options options = {
        .name = "command link",
        .address = *address,
        .password = l->options->password,
        .timeout_ms = l->options->command_timeout_ms,
        .backoff_max_ms = l->options->reconnect_ms,
        .on_look = l->events.on_look ? on_look : NULL,
        .on_open = on_open,
        .on_close = on_close,
        .on_failed = on_failed,
        .on_refused = on_refused,
        .on_silence = on_silence,
        .silence_ms = l->options->silence_ms,
        .on_stopped = on_part_stopped,
        .arg = l,
    };

    return redis_link_new(loop, &options);
}

static struct redis_handshake *make_handshake(struct redis_lane *l, struct loop *loop,
                                              enum redis_kind kind)
{
    struct redis_handshake_options options = {
        .keys = {l->options->prefix, l->options->buckets},
        .is_strict = l->options->is_strict,
        .min_replicas = l->options->min_replicas,
        .aof_cut_bytes = l->options->aof_cut_bytes,
        .kind = kind,
        .timers = &loop->timers,
        .look_ms = l->options->look_ms,
        .on_weak = on_weak,
        .on_ready = on_ready,
        .on_refused = on_refused,
        .arg = l,
    };

    return redis_handshake_new(&options, l->link);
}

static struct redis_replicas *make_replicas(struct redis_lane *l, struct loop *loop)
{
    struct redis_replicas_options options = {
        .password = l->options->password,
        .min_replicas = l->options->min_replicas,
        .patience_ms = l->options->replica_timeout_ms,
        .timeout_ms = l->options->command_timeout_ms,
        .backoff_max_ms = l->options->reconnect_ms,
        .calm_ms = REDIS_REPLICAS_CALM_MS,
        .on_stopped = on_part_stopped,
        .arg = l,
    };

    return redis_replicas_new(loop, &options);
}

struct redis_lane *redis_lane_new(struct loop *loop, const struct redis_store_options *options,
                                  const struct redis_address *address, enum redis_kind kind,
                                  struct redis_store_stats *stats,
                                  const struct redis_lane_events *events)
{
    struct redis_lane *l = calloc(1, sizeof(*l));
    struct redis_gate_events gate = {
        .on_turned = on_breaker,
        .is_waited_for = is_waited_for,
        .is_idle = is_idle,
        .on_try = on_try,
        .arg = l,
    };

    if (!l)
        abort();
    l->options = options;
    l->events = *events;
    l->link = make_link(l, loop, address);
    l->handshake = make_handshake(l, loop, kind);
    if (options->min_replicas > 0)
        l->replicas = make_replicas(l, loop);
    redis_gate_init(&l->gate, options, stats, l->link, &loop->timers, &gate);
    l->timers = &loop->timers;
    redis_address_print(address, l->name);
    timer_init(&l->retiring, on_retiring);
    list_init(&l->beat.link);
    list_init(&l->link_of_all);
    for (unsigned i = 0; i < REDIS_REPLY_KINDS; i++)
        list_init(&l->runnable[i]);
    return l;
}

void redis_lane_free(struct redis_lane *l)
{
    if (!l)
        return;
    assert(l->in_flight == 0);
    for (unsigned i = 0; i < REDIS_REPLY_KINDS; i++)
        assert(l->reply_bytes[i] == 0 && list_is_empty(&l->runnable[i]));
    timer_disarm(l->timers, &l->retiring);
    redis_gate_fini(&l->gate);
    redis_replicas_free(l->replicas);
    redis_handshake_free(l->handshake);
    redis_link_free(l->link);
    free(l);
}

/* ---- its life ---- */

void redis_lane_start(struct redis_lane *l)
{
    redis_link_start(l->link);
    if (l->replicas)
        redis_replicas_start(l->replicas);
}

void redis_lane_stop(struct redis_lane *l)
{
    if (l->parts_running > 0 || l->is_stopped)
        return;
    timer_disarm(l->timers, &l->retiring);
    l->is_ending = true;
    l->parts_running = l->replicas ? 2 : 1;
    if (l->replicas)
        redis_replicas_stop(l->replicas);
    redis_link_stop(l->link);
}

void redis_lane_stop_now(struct redis_lane *l)
{
    redis_link_reset(l->link, "no time left to wait for answers");
    if (l->replicas)
        redis_replicas_give_up(l->replicas);
}

void redis_lane_reload(struct redis_lane *l)
{
    redis_gate_reload(&l->gate, l->options);
}

const struct redis_address *redis_lane_address(const struct redis_lane *l)
{
    return redis_link_address(l->link);
}

void redis_lane_rehandshake(struct redis_lane *l)
{
    if (!redis_link_is_open(l->link))
        return;
    l->is_ready = false;
    on_open(l);
}

const char *redis_lane_word(const struct redis_lane *l)
{
    if (l->is_leaving || l->is_retired)
        return "leaving";
    if (l->is_usable)
        return "up";
    return l->is_refused ? "refused" : "connecting";
}

void redis_lane_fit(struct redis_lane *l)
{
    l->is_usable = true;
    redis_link_settled(l->link);
    if (l->replicas)
        redis_replicas_follow(l->replicas, redis_link_address(l->link),
                              redis_handshake_incarnation(l->handshake));
    redis_gate_fit(&l->gate);
}

void redis_lane_leave_when_answered(struct redis_lane *l)
{
    if (l->is_leaving && l->is_usable && l->in_flight == 0)
        redis_link_reset(l->link, l->leaves_for);
}

void redis_lane_leave(struct redis_lane *l, const char *error)
{
    snprintf(l->leaves_for, sizeof(l->leaves_for), "it answers: %s", error);
    l->is_leaving = true;
    redis_lane_leave_when_answered(l);
}
