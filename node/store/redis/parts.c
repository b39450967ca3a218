/* The parts of a store on Redis put together, and what they tell: lanes, the route of buckets
 * to them, the requests that travel on them, the subscription beside them. Together they say
 * whether the store is up.
 */
#include "node/store/redis/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "node/store/redis/durability.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/wire/encode.h"

/* ---- up and down ---- */

static void tell_rollback(struct redis_store *s)
{
    s->has_rolled_back = false;
    if (s->port.events.on_rollback)
        s->port.events.on_rollback(s->port.events.arg);
}

/* on_up means all buckets but those that on_bucket names after it. */
static void tell_up(struct redis_store *s)
{
    for (unsigned i = 0; i < s->options.buckets; i++)
        s->is_reported_reached[i] = true;
    s->port.events.on_up(s->port.events.arg);
}

static void tell_buckets(struct redis_store *s)
{
    for (unsigned i = 0; i < s->options.buckets; i++) {
        bool is_reached = redis_bucket_is_reached(&s->route.buckets[i]);

        if (s->is_reported_reached[i] == is_reached)
            continue;
        s->is_reported_reached[i] = is_reached;
        if (s->port.events.on_bucket)
            s->port.events.on_bucket(s->port.events.arg, i, is_reached);
    }
}

static enum redis_store_state state_now(const struct redis_store *s)
{
    if (s->route.reached == 0)
        return REDIS_STORE_DOWN;
    return redis_wakeups_are_up(s->wakeups) ? REDIS_STORE_UP : REDIS_STORE_UNHEARD;
}

static void set_state(struct redis_store *s)
{
    enum redis_store_state before = s->stats.state, after = state_now(s);

    if (after != before) {
        s->stats.state = after;
        redis_state_log_turned(&s->state_log, after, s->is_stopping ? LEVEL_DEBUG : LEVEL_INFO);
        if (after == REDIS_STORE_UP)
            tell_up(s);
        else if (before == REDIS_STORE_UP)
            s->port.events.on_down(s->port.events.arg);
    }
    if (after == REDIS_STORE_UP) {
        tell_buckets(s);
        if (s->has_rolled_back)
            tell_rollback(s);
    }
    if (after == REDIS_STORE_UP && before != REDIS_STORE_UP && s->options.on_up)
        s->options.on_up(s->options.arg);
    if (before == REDIS_STORE_UP && after != REDIS_STORE_UP && s->options.on_down)
        s->options.on_down(s->options.arg);
}

/* ---- what the route says ---- */

void redis_store_on_rollback(struct redis_store *s, const struct redis_rollback *found)
{
    s->stats.rollbacks++;
    s->stats.lost_pushes += found->lost_pushes;
    s->has_rolled_back = true;
}

void redis_store_on_usable(struct redis_store *s, struct redis_lane *l)
{
    if (s->follow) {
        snprintf(s->up_at, sizeof(s->up_at), "%s", redis_follow_text(s->follow));
        redis_follow_used(s->follow, true);
    }
    s->is_refused = false;
    s->stats.connects++;
    redis_wakeups_prove(s->wakeups, &l->beat);
    if (s->is_looking)
        redis_store_look_for_wakeups(s);
}

void redis_store_on_bucket_open(struct redis_store *s, unsigned bucket)
{
    redis_requests_opened(s->requests, bucket);
}

void redis_store_on_bucket_shut(struct redis_store *s, unsigned bucket)
{
    redis_requests_shut(s->requests, bucket);
}

void redis_store_on_route_turned(struct redis_store *s, struct redis_lane *l)
{
    redis_requests_send(s->requests, l);
    set_state(s);
}

/* ---- what a lane says ---- */

/* One master that answers is enough: a silent one stops only its own buckets. */
static void look_at_silence(struct redis_store *s)
{
    bool is_silent = false, was_silent = s->stats.silent_since_mono_ms != 0;

    LIST_EACH (link, &s->lanes) {
        const struct redis_lane *l = redis_store_lane_of(link);

        is_silent |= l->is_silent;
        if (l->is_usable && !l->is_silent) {
            is_silent = false;
            break;
        }
    }
    if (is_silent == was_silent)
        return;
    s->stats.silent_since_mono_ms = is_silent ? timers_now(&s->loop->timers) : 0;
    if (s->options.on_silence)
        s->options.on_silence(s->options.arg, is_silent);
}

void redis_store_on_lane_look(struct redis_store *s)
{
    redis_follow_look(s->follow);
}

void redis_store_on_lane_closed(struct redis_store *s, struct redis_lane *l)
{
    if (s->follow)
        redis_follow_used(s->follow, false);
    redis_route_lane_closed(&s->route, l);
    look_at_silence(s);
    if (s->map)
        redis_wakeups_leave(s->wakeups, redis_lane_address(l));
    redis_store_on_lane_failed(s);
}

void redis_store_try_lane(struct redis_store *s, struct redis_lane *l)
{
    redis_requests_send(s->requests, l);
}

void redis_store_on_refused(void *store, const char *why)
{
    struct redis_store *s = store;

    if (s->is_refused)
        return;
    s->is_refused = true;
    if (s->options.on_refused)
        s->options.on_refused(s->options.arg, why);
}

/* Shows the worst of all breakers: open, half open, closed. */
static void take_breaker(struct redis_store_stats *stats, const struct redis_breaker *b)
{
    static const int badness[BREAKER_STATES] = {
        [BREAKER_CLOSED] = 0, [BREAKER_HALF_OPEN] = 1, [BREAKER_OPEN] = 2};

    if (badness[b->state] < badness[stats->breaker])
        return;
    stats->breaker = b->state;
    stats->breaker_since_mono_ms = b->since_mono_ms;
}

/* Logs each weakness once, until it changes. */
static void say_weak(unsigned come, unsigned gone)
{
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++) {
        if (come >> w & 1)
            LOG_WARN("redis", "%s: %s; %s", weakness_word((enum weakness)w),
                     weakness_what((enum weakness)w), weakness_advice((enum weakness)w));
        if (gone >> w & 1)
            LOG_INFO("redis", "%s: this is no longer so", weakness_word((enum weakness)w));
    }
}

void redis_store_on_lanes_turned(struct redis_store *s)
{
    unsigned weak = 0;

    look_at_silence(s);

    s->stats.breaker = BREAKER_CLOSED;
    LIST_EACH (link, &s->lanes) {
        weak |= redis_store_lane_of(link)->weak;
        take_breaker(&s->stats, &redis_store_lane_of(link)->breaker);
    }
    say_weak(weak & ~s->stats.weak, s->stats.weak & ~weak);
    s->stats.weak = weak;
}

bool redis_store_waits_for(const struct redis_store *s, const struct redis_lane *l)
{
    return redis_requests_wait_for(s->requests, l);
}

void redis_store_part_stopped(void *arg)
{
    struct redis_store *s = arg;

    if (--s->parts_running == 0)
        s->on_stopped(s->stopped_arg);
}

void redis_store_on_lane_stopped(struct redis_store *s, struct redis_lane *l)
{
    if (s->is_ending)
        redis_store_part_stopped(s);
    else
        timer_arm(&s->loop->timers, &s->sweep, 0); /* later: the lane is still calling back */
}

/* ---- what is heard ---- */

static void on_wakeups_turned(void *arg)
{
    set_state(arg);
}

/* A beat weighs its lane's buckets. */
static unsigned weigh(void *arg, const struct redis_beat *beat)
{
    const struct redis_lane *l = CONTAINER_OF(beat, struct redis_lane, beat);

    return redis_route_count(&((struct redis_store *)arg)->route, l);
}

static void on_missed(void *arg, const struct redis_beat *beat)
{
    struct redis_store *s = arg;
    const struct redis_lane *l = CONTAINER_OF(beat, struct redis_lane, beat);

    for (unsigned i = 0; s->port.events.on_missed && i < s->options.buckets; i++) {
        if (s->route.buckets[i].lane == l)
            s->port.events.on_missed(s->port.events.arg, i);
    }
}

/* ---- making them ---- */

static struct redis_follow *make_follow(struct redis_store *s)
{
    struct redis_follow_options follow = {
        .address = s->options.address,
        .login = {.password = s->options.sentinel_password, .tls = s->options.tls},
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_refused = redis_store_on_refused,
        .on_stopped = redis_store_part_stopped,
        .arg = s,
    };

    return redis_follow_new(s->loop, &follow);
}

struct redis_lane *redis_store_make_lane(struct redis_store *s,
                                         const struct redis_address *address)
{
    bool has_sentinels = s->follow && redis_follow_has_sentinels(s->follow);
    enum redis_kind kind = s->map          ? REDIS_OF_CLUSTER
                           : has_sentinels ? REDIS_OF_SENTINELS
                                           : REDIS_ALONE;
    struct redis_lane *l =
        redis_lane_new(s->loop, s, &s->options, &s->stats, &s->port, address, kind);

    l->serial = ++s->lanes_made;
    list_append(&s->lanes, &l->link_of_all);
    redis_wakeups_add(s->wakeups, &l->beat, l->link);
    return l;
}

static void make_route(struct redis_store *s)
{
    struct script_keys keys = {.prefix = s->options.prefix, .buckets = s->options.buckets};

    s->marks = redis_marks_new(keys.buckets);
    redis_route_init(&s->route, &keys, s->marks, &s->loop->timers, s, s->map != NULL);
}

/* One Redis has all buckets. */
static void make_only_lane(struct redis_store *s)
{
    struct redis_lane *l = redis_store_make_lane(s, redis_follow_address(s->follow));

    l->has_meta = true;
    for (unsigned i = 0; i < s->options.buckets; i++)
        redis_route_set(&s->route, i, l);
    redis_follow_attach(s->follow, l->link, s->wakeups);
}

static struct redis_wakeups *make_wakeups(struct redis_store *s)
{
    static const struct redis_address nowhere;
    struct redis_wakeups_options wakeups = {
        .address = s->follow ? *redis_follow_address(s->follow) : nowhere,
        .login = redis_store_login(&s->options),
        .prefix = s->options.prefix,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .events = &s->port.events,
        .buckets = s->options.buckets,
        .on_look = s->map ? redis_store_look_for_wakeups : NULL,
        .weigh = weigh,
        .on_missed = on_missed,
        .on_up = on_wakeups_turned,
        .on_down = on_wakeups_turned,
        .on_stopped = redis_store_part_stopped,
        .arg = s,
    };

    return redis_wakeups_new(s->loop, &wakeups);
}

enum status redis_store_make_parts(struct redis_store *s)
{
    bool is_cluster = redis_cluster_is_named(s->options.address);
    enum status status = STATUS_OK;

    s->port.has_parts = is_cluster;
    if (is_cluster)
        status = redis_store_make_map(s);
    else if (!(s->follow = make_follow(s)))
        status = STATUS_BAD_CONFIG;
    if (status != STATUS_OK)
        return status;
    list_init(&s->lanes);
    make_route(s);
    s->requests =
        redis_requests_new(s->loop, &s->options, &s->stats, &s->route, &s->port.events);
    s->wakeups = make_wakeups(s);
    if (s->follow)
        make_only_lane(s);
    return STATUS_OK;
}
