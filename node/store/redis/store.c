/* The parts of a store on Redis put together, and their events. */
#include "node/store/redis/store.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/requests.h"
#include "node/store/redis/wire/scripts.h"
#include "node/store/redis/store_private.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/durability.h"

#define BUCKETS_MAX 128 /* so that ids stay below 2^53 */

static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.-");

    return len >= 1 && len <= max && !text[len];
}

enum status redis_store_check(const struct redis_store_options *options)
{
    if (!is_word(options->prefix, SCRIPT_PREFIX_MAX)) {
        LOG_ERROR("redis", "not a prefix for keys: '%s'", options->prefix);
        return STATUS_BAD_CONFIG;
    }
    if (options->buckets < 1 || options->buckets > BUCKETS_MAX) {
        LOG_ERROR("redis", "not a number of buckets: %u", options->buckets);
        return STATUS_BAD_CONFIG;
    }
    return STATUS_OK;
}

struct redis_store_options redis_store_defaults(void)
{
    return (struct redis_store_options){
        .prefix = "dq",
        .buckets = 64,
        .command_timeout_ms = 5000,
        .hold_ms = 10000,
        .reconnect_ms = 250,
        .look_ms = 10000,
        .flight_max = 4096,
        .replies_max = 8u << 20,
        .held_max = 20000,
        .bytes_max = 256u << 20,
        .breaker_after_ms = 10000,
        .breaker_failures = 3,
        .breaker_probes = 16,
        .replica_timeout_ms = 1000,
    };
}

/* The parts: lanes, the route of buckets to them, the requests that travel on them, the
 * subscription beside them. Together they say whether the store is up.
 */

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
        s->is_told_reached[i] = true;
    s->port.events.on_up(s->port.events.arg);
}

static void tell_buckets(struct redis_store *s)
{
    for (unsigned i = 0; i < s->options.buckets; i++) {
        bool is_reached = redis_bucket_is_reached(&s->route.buckets[i]);

        if (s->is_told_reached[i] == is_reached)
            continue;
        s->is_told_reached[i] = is_reached;
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

static void on_rollback(void *arg, const struct redis_rollback *found)
{
    struct redis_store *s = arg;

    s->stats.rollbacks++;
    s->stats.lost_pushes += found->lost_pushes;
    s->has_rolled_back = true;
}

static void on_fit(void *arg, struct redis_lane *l)
{
    struct redis_store *s = arg;

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

static void on_bucket_open(void *arg, unsigned bucket)
{
    redis_requests_opened(((struct redis_store *)arg)->requests, bucket);
}

static void on_bucket_shut(void *arg, unsigned bucket)
{
    redis_requests_shut(((struct redis_store *)arg)->requests, bucket);
}

static void on_route_turned(void *arg, struct redis_lane *l)
{
    struct redis_store *s = arg;

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

static void on_lane_look(void *arg)
{
    redis_follow_look(((struct redis_store *)arg)->follow);
}

static void on_lane_ready(void *arg, struct redis_lane *l)
{
    redis_store_lane_ready(arg, l);
}

static void on_lane_closed(void *arg, struct redis_lane *l)
{
    struct redis_store *s = arg;

    if (s->follow)
        redis_follow_used(s->follow, false);
    redis_route_lane_closed(&s->route, l);
    look_at_silence(s);
    if (s->map)
        redis_wakeups_leave(s->wakeups, redis_lane_address(l));
    redis_store_lane_lost(s);
}

static void on_lane_failed(void *arg, struct redis_lane *l)
{
    redis_store_lane_lost(arg);
}

static void on_lane_try(void *arg, struct redis_lane *l)
{
    redis_requests_send(((struct redis_store *)arg)->requests, l);
}

void redis_store_refused(void *arg, const char *why)
{
    struct redis_store *s = arg;

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

void redis_store_lanes_turned(void *arg)
{
    struct redis_store *s = arg;
    unsigned weak = 0;

    look_at_silence(s);

    s->stats.breaker = BREAKER_CLOSED;
    LIST_EACH (link, &s->lanes) {
        weak |= redis_store_lane_of(link)->weak;
        take_breaker(&s->stats, &redis_store_lane_of(link)->gate.breaker);
    }
    say_weak(weak & ~s->stats.weak, s->stats.weak & ~weak);
    s->stats.weak = weak;
}

static bool is_lane_waited_for(void *arg, const struct redis_lane *l)
{
    return redis_requests_wait_for(((struct redis_store *)arg)->requests, l);
}

void redis_store_part_stopped(void *arg)
{
    struct redis_store *s = arg;

    if (--s->parts_running == 0)
        s->on_stopped(s->stopped_arg);
}

static void on_lane_stopped(void *arg, struct redis_lane *l)
{
    struct redis_store *s = arg;

    if (s->is_ending)
        redis_store_part_stopped(s);
    else
        redis_store_lane_gone(s);
}

/* ---- what is heard ---- */

static void on_wakeups_turned(void *arg)
{
    set_state(arg);
}

static void on_topic_ready(void *arg, struct bytes topic)
{
    struct redis_store *s = arg;

    s->port.events.on_ready(s->port.events.arg, topic);
}

static void on_topic_settings(void *arg, struct bytes topic)
{
    struct redis_store *s = arg;

    if (s->port.events.on_settings)
        s->port.events.on_settings(s->port.events.arg, topic);
}

/* Only nodes publish hints, but anybody could. */
static void on_hint(void *arg, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct redis_store *s = arg;

    if (bucket < s->port.buckets && share < SHARES && s->port.events.on_hint)
        s->port.events.on_hint(s->port.events.arg, bucket, share, wait_ms);
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
        .password = s->options.sentinel_password,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_refused = redis_store_refused,
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
    struct redis_lane_events events = {
        .on_look = has_sentinels ? on_lane_look : NULL,
        .on_ready = on_lane_ready,
        .on_close = on_lane_closed,
        .on_failed = on_lane_failed,
        .on_refused = redis_store_refused,
        .on_turned = redis_store_lanes_turned,
        .on_try = on_lane_try,
        .is_waited_for = is_lane_waited_for,
        .on_stopped = on_lane_stopped,
        .arg = s,
    };
    struct redis_lane *l =
        redis_lane_new(s->loop, &s->options, address, kind, &s->stats, &events);

    l->serial = ++s->lanes_made;
    list_append(&s->lanes, &l->link_of_all);
    redis_wakeups_add(s->wakeups, &l->beat, l->link);
    return l;
}

static void make_route(struct redis_store *s)
{
    struct script_keys keys = {s->options.prefix, s->options.buckets};
    struct redis_route_events events = {
        .on_elsewhere = s->map ? redis_store_moved : NULL,
        .on_rollback = on_rollback,
        .on_fit = on_fit,
        .on_open = on_bucket_open,
        .on_shut = on_bucket_shut,
        .on_turned = on_route_turned,
        .arg = s,
    };

    s->marks = redis_marks_new(keys.buckets);
    redis_route_init(&s->route, &keys, s->marks, &s->loop->timers, &events);
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
        .password = s->options.password,
        .prefix = s->options.prefix,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_look = s->map ? redis_store_look_for_wakeups : NULL,
        .on_ready = on_topic_ready,
        .on_settings = on_topic_settings,
        .on_hint = on_hint,
        .weigh = weigh,
        .on_missed = on_missed,
        .on_up = on_wakeups_turned,
        .on_down = on_wakeups_turned,
        .on_stopped = redis_store_part_stopped,
        .arg = s,
    };

    return redis_wakeups_new(s->loop, &wakeups);
}

static void make_requests(struct redis_store *s)
{
    struct redis_requests_events redirects = {
        .on_moved = redis_store_moved,
        .on_lost = redis_store_lost,
        .lane_from = redis_store_lane_from,
        .arg = s,
    };

    s->requests = redis_requests_new(s->loop, &s->options, &s->stats, &s->route);
    redis_requests_tell(s->requests, &s->port.events);
    if (s->map)
        redis_requests_follow(s->requests, &redirects);
}

enum status redis_store_make_parts(struct redis_store *s)
{
    bool is_cluster = redis_cluster_is_named(s->options.address);
    enum status status = STATUS_OK;

    if (is_cluster)
        status = redis_store_make_map(s);
    else if (!(s->follow = make_follow(s)))
        status = STATUS_BAD_CONFIG;
    if (status != STATUS_OK)
        return status;
    list_init(&s->lanes);
    make_route(s);
    make_requests(s);
    s->wakeups = make_wakeups(s);
    if (s->follow)
        make_only_lane(s);
    return STATUS_OK;
}
