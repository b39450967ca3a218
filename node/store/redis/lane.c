#include "node/store/redis/lane.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

#define RETIRE_MS      1000 /* an answer comes within that, or its Redis is gone */
#define RETIRE_LOOK_MS 10

/* ---- its breaker ---- */

static void say_opened(const struct redis_lane *l)
{
    const char *why = redis_link_why(l->link);

    LOG_ERROR("redis",
              "Redis answers no requests (%s): the circuit breaker opens. New ones are refused "
              "at once until it does; those that wait already wait on",
              *why ? why : "and says nothing");
}

/* Logs a change of the breaker's state, and shows it in the stats. */
static void note_breaker(struct redis_lane *l)
{
    const struct redis_breaker *b = &l->breaker;
    enum breaker_state before = l->breaker_said;

    if (before == b->state)
        return;
    if (before == BREAKER_CLOSED) {
        l->tripped_mono_ms = b->since_mono_ms;
        l->stats->breaker_trips++;
    }
    l->breaker_said = b->state;
    redis_store_on_lanes_turned(l->store);
    if (b->state == BREAKER_OPEN)
        say_opened(l);
    else if (b->state == BREAKER_HALF_OPEN)
        LOG_INFO("redis", "Redis is back: the circuit breaker tries it with %u requests",
                 b->probes);
    else
        LOG_INFO("redis", "the circuit breaker is closed again, after %lld ms",
                 (long long)(b->since_mono_ms - l->tripped_mono_ms));
}

static bool is_waited_for(const struct redis_lane *l)
{
    return l->in_flight > 0 || redis_store_waits_for(l->store, l);
}

/* Requests may have been given up, so that none waits any more. */
static void look_at_breaker(struct redis_lane *l)
{
    int64_t now_mono_ms = timers_now(l->timers), again_mono_ms;
    bool must_try = redis_lane_is_connected(l) && l->in_flight == 0 &&
                    breaker_try(&l->breaker, now_mono_ms);

    if (!is_waited_for(l))
        breaker_idle(&l->breaker);
    again_mono_ms = breaker_look(&l->breaker, now_mono_ms);

    note_breaker(l);
    if (again_mono_ms >= 0 &&
        (!timer_is_armed(&l->breaker_timer) || l->breaker_timer.due_mono_ms > again_mono_ms))
        timer_arm(l->timers, &l->breaker_timer, again_mono_ms - now_mono_ms);
    if (must_try)
        redis_store_try_lane(l->store, l);
}

static void on_breaker_timer(struct timer *timer)
{
    look_at_breaker(CONTAINER_OF(timer, struct redis_lane, breaker_timer));
}

/* An armed timer is left alone: where answers have come since, it fires too soon and is armed
 * again. So it costs nothing while all goes well. */
void redis_lane_asked(struct redis_lane *l)
{
    breaker_asked(&l->breaker, timers_now(l->timers));
    if (!timer_is_armed(&l->breaker_timer))
        look_at_breaker(l);
}

void redis_lane_answered(struct redis_lane *l)
{
    breaker_answered(&l->breaker, timers_now(l->timers));
    note_breaker(l);
}

void redis_lane_reload(struct redis_lane *l)
{
    l->breaker.after_ms = l->options->breaker_after_ms;
    l->breaker.failures = l->options->breaker_failures;
    l->breaker.probes = l->options->breaker_probes ? l->options->breaker_probes : 1;
    timer_disarm(l->timers, &l->breaker_timer);
    look_at_breaker(l);
}

/* ---- Redis's clock ---- */

#define CLOCK_SAID_MS  1000
#define CLOCK_SAID_MAX 10 /* lines in that time */

int64_t redis_clock_read(struct redis_clock *c, int64_t theirs_ms, int64_t sent_mono_ms,
                         int64_t read_mono_ms)
{
    int64_t least_ms = theirs_ms - read_mono_ms, most_ms = theirs_ms - sent_mono_ms;
    int64_t jump_ms = 0;

    if (c->is_known && least_ms > c->most_ms + REDIS_CLOCK_JUMP_MS)
        jump_ms = least_ms - c->most_ms;
    else if (c->is_known && most_ms < c->least_ms - REDIS_CLOCK_JUMP_MS)
        jump_ms = most_ms - c->least_ms;
    if (!c->is_known || jump_ms != 0 || most_ms - least_ms <= REDIS_CLOCK_WIDE_MS) {
        c->is_known = true;
        c->least_ms = least_ms;
        c->most_ms = most_ms;
    }
    return jump_ms;
}

static bool may_say(struct redis_clock *c, int64_t mono_ms)
{
    if (c->said == 0 || mono_ms - c->said_from_mono_ms >= CLOCK_SAID_MS) {
        c->said = 0;
        c->said_from_mono_ms = mono_ms;
    }
    return c->said++ < CLOCK_SAID_MAX;
}

void redis_lane_read_clock(struct redis_lane *l, int64_t theirs_ms, int64_t sent_us)
{
    int64_t mono_ms = clock_mono_ms(), jump_ms;

    if (theirs_ms == 0)
        return;
    jump_ms = redis_clock_read(&l->clock, theirs_ms, sent_us / 1000, mono_ms);
    if (jump_ms == 0)
        return;
    l->stats->clock_jumps++;
    if (!may_say(&l->clock, mono_ms))
        return;
    LOG_WARN(
        "redis",
        "%s: its clock has jumped by %+lld ms against this host's: it was set, another Redis "
        "answers, or this host was asleep. What is due, and leases that run out, come early "
        "or late by as much",
        l->name, (long long)jump_ms);
}

/* ---- what its link and its replicas say ---- */

static void on_look(void *arg)
{
    struct redis_lane *l = arg;

    redis_store_on_lane_look(l->store);
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
    if (is_late || l->in_flight > 0) {
        breaker_lost(&l->breaker, is_late, timers_now(l->timers));
        look_at_breaker(l);
    }
    if (is_waited_for(l))
        redis_lane_asked(l);
}

static void on_silence(void *arg, bool is_silent)
{
    struct redis_lane *l = arg;

    l->is_silent = is_silent;
    redis_store_on_lanes_turned(l->store);
}

static void on_failed(void *arg)
{
    struct redis_lane *l = arg;

    note_loss(l);
    redis_store_on_lane_failed(l->store);
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
    redis_store_on_lane_closed(l->store, l);
}

/* ---- what its handshake says ---- */

void redis_lane_on_ready(struct redis_lane *l)
{
    l->is_ready = true;
    l->is_leaving = false;
    l->is_refused = false;
    redis_store_on_lane_ready(l->store, l);
}

void redis_lane_on_refused(void *lane, const char *why)
{
    struct redis_lane *l = lane;

    l->is_refused = true;
    redis_store_on_refused(l->store, why);
}

bool redis_lane_has_meta(const struct redis_lane *l)
{
    return l->has_meta;
}

void redis_lane_on_weak(struct redis_lane *l, unsigned weak)
{
    l->weak = weak;
    redis_store_on_lanes_turned(l->store);
}

static void on_part_stopped(void *arg)
{
    struct redis_lane *l = arg;

    if (--l->parts_running > 0)
        return;
    l->is_stopped = true;
    redis_store_on_lane_stopped(l->store, l);
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
                                    const struct redis_address *address, enum redis_kind kind)
{
    struct redis_link_options options = {
        .name = "command link",
        .address = *address,
        .login = redis_store_login(l->options),
        .timeout_ms = l->options->command_timeout_ms,
        .backoff_max_ms = l->options->reconnect_ms,
        .on_look = kind == REDIS_OF_SENTINELS ? on_look : NULL,
        .on_open = on_open,
        .on_close = on_close,
        .on_failed = on_failed,
        .on_refused = redis_lane_on_refused,
        .on_silence = on_silence,
        .silence_ms = l->options->silence_ms,
        .on_stopped = on_part_stopped,
        .arg = l,
    };

    return redis_link_new(loop, &options);
}

static struct redis_replicas *make_replicas(struct redis_lane *l, struct loop *loop)
{
    struct redis_replicas_options options = {
        .login = redis_store_login(l->options),
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

struct redis_lane *redis_lane_new(struct loop *loop, struct redis_store *store,
                                  const struct redis_store_options *options,
                                  struct redis_store_stats *stats, struct store *port,
                                  const struct redis_address *address, enum redis_kind kind)
{
    struct redis_lane *l = must(calloc(1, sizeof(*l)));

    l->store = store;
    l->options = options;
    l->stats = stats;
    l->timers = &loop->timers;
    l->link = make_link(l, loop, address, kind);
    l->handshake = redis_handshake_new(options, kind, l->timers, l, l->link, port);
    if (options->min_replicas > 0)
        l->replicas = make_replicas(l, loop);
    breaker_init(&l->breaker, options->breaker_after_ms, options->breaker_failures,
                 options->breaker_probes);
    timer_init(&l->breaker_timer, on_breaker_timer);
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
    timer_disarm(l->timers, &l->breaker_timer);
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

void redis_lane_set_usable(struct redis_lane *l)
{
    l->is_usable = true;
    redis_link_settled(l->link);
    if (l->replicas)
        redis_replicas_follow(l->replicas, redis_link_address(l->link),
                              redis_handshake_incarnation(l->handshake));
    breaker_connected(&l->breaker, timers_now(l->timers));
    note_breaker(l);
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
