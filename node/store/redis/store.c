/* What belongs to what: the command link and its handshake, the requests that travel on it,
 * the subscription beside it; and what all of them together mean for the node.
 */
#include "node/store/redis/store_private.h"

#include <stdio.h>

#include "base/log.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/handshake.h"
#include "node/store/redis/link.h"
#include "node/store/redis/replicas.h"
#include "node/store/redis/requests.h"
#include "node/store/redis/wakeups.h"

/* ---- up and down ---- */

static void tell_older(struct redis_store *s)
{
    s->is_older = false;
    if (s->port.events.on_older)
        s->port.events.on_older(s->port.events.arg);
}

static void set_state(struct redis_store *s)
{
    enum redis_store_state before = s->stats.state, after = REDIS_STORE_DOWN;

    if (s->is_ready)
        after = redis_wakeups_are_up(s->wakeups) ? REDIS_STORE_UP : REDIS_STORE_UNHEARD;
    if (after == before)
        return;
    s->stats.state = after;
    redis_state_log_turned(&s->state_log, after, s->is_stopping ? LEVEL_DEBUG : LEVEL_INFO);
    if (after == REDIS_STORE_UP)
        s->port.events.on_up(s->port.events.arg);
    else if (before == REDIS_STORE_UP)
        s->port.events.on_down(s->port.events.arg);
    if (after == REDIS_STORE_UP && s->is_older)
        tell_older(s);
    if (after == REDIS_STORE_UP && s->options.on_up)
        s->options.on_up(s->options.arg);
    if (before == REDIS_STORE_UP && s->options.on_down)
        s->options.on_down(s->options.arg);
}

static void on_link_look(void *arg)
{
    struct redis_store *s = arg;

    redis_follow_look(s->follow);
}

static void on_link_open(void *arg)
{
    struct redis_store *s = arg;

    redis_handshake_start(s->handshake);
}

static void on_link_close(void *arg)
{
    struct redis_store *s = arg;

    s->is_ready = false;
    redis_follow_used(s->follow, false);
    redis_requests_close(s->requests);
    if (s->replicas)
        redis_replicas_turn(s->replicas, redis_link_address(s->link));
    set_state(s);
}

static void on_older(void *arg, const struct redis_older *older)
{
    struct redis_store *s = arg;

    s->stats.older++;
    s->stats.lost_pushes += older->lost_pushes;
    s->is_older = true;
}

static void on_link_failed(void *arg)
{
    struct redis_store *s = arg;

    redis_requests_failed(s->requests);
}

static void on_handshake_ready(void *arg)
{
    struct redis_store *s = arg;

    snprintf(s->up_at, sizeof(s->up_at), "%s", redis_follow_text(s->follow));
    s->is_ready = true;
    redis_follow_used(s->follow, true);
    s->is_refused = false;
    s->stats.connects++;
    redis_link_settled(s->link);
    if (s->replicas)
        redis_replicas_follow(s->replicas, redis_link_address(s->link),
                              redis_handshake_life(s->handshake));
    redis_requests_open(s->requests);
    set_state(s);
}

static void on_refused(void *arg, const char *why)
{
    struct redis_store *s = arg;

    if (s->is_refused)
        return;
    s->is_refused = true;
    if (s->options.on_refused)
        s->options.on_refused(s->options.arg, why);
}

static void on_weak(void *arg, unsigned weak)
{
    struct redis_store *s = arg;

    s->stats.weak = weak;
}

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

/* Nobody but nodes of this version writes there, but anybody could. */
static void on_hint(void *arg, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct redis_store *s = arg;

    if (bucket < s->port.buckets && share < SHARES && s->port.events.on_hint)
        s->port.events.on_hint(s->port.events.arg, bucket, share, wait_ms);
}

static void on_part_stopped(void *arg)
{
    struct redis_store *s = arg;

    if (--s->parts_running == 0)
        s->on_stopped(s->stopped_arg);
}

/* ---- making them ---- */

static struct redis_replicas *make_replicas(struct redis_store *s, struct loop *loop)
{
    struct redis_replicas_options options = {
        .password = s->options.password,
        .min_replicas = s->options.min_replicas,
        .patience_ms = s->options.replica_timeout_ms,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .calm_ms = REDIS_REPLICAS_CALM_MS,
        .on_stopped = on_part_stopped,
        .arg = s,
    };

    return redis_replicas_new(loop, &options);
}

static struct redis_follow *make_follow(struct redis_store *s, struct loop *loop)
{
    struct redis_follow_options follow = {
        .address = s->options.address,
        .password = s->options.sentinel_password,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_refused = on_refused,
        .on_stopped = on_part_stopped,
        .arg = s,
    };

    return redis_follow_new(loop, &follow);
}

static struct redis_link *make_link(struct redis_store *s, struct loop *loop)
{
    struct redis_link_options link = {
        .name = "command link",
        .address = *redis_follow_address(s->follow),
        .password = s->options.password,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_look = redis_follow_has_sentinels(s->follow) ? on_link_look : NULL,
        .on_open = on_link_open,
        .on_close = on_link_close,
        .on_failed = on_link_failed,
        .on_refused = on_refused,
        .on_stopped = on_part_stopped,
        .arg = s,
    };

    return redis_link_new(loop, &link);
}

static struct redis_handshake *make_handshake(struct redis_store *s, struct loop *loop)
{
    struct redis_handshake_options handshake = {
        .keys = {s->options.prefix, s->options.buckets},
        .is_strict = s->options.is_strict,
        .on_older = on_older,
        .min_replicas = s->options.min_replicas,
        .has_sentinels = redis_follow_has_sentinels(s->follow),
        .timers = &loop->timers,
        .look_ms = s->options.look_ms,
        .on_weak = on_weak,
        .on_ready = on_handshake_ready,
        .on_refused = on_refused,
        .arg = s,
    };

    return redis_handshake_new(&handshake, s->link);
}

static struct redis_wakeups *make_wakeups(struct redis_store *s, struct loop *loop)
{
    struct redis_wakeups_options wakeups = {
        .address = *redis_follow_address(s->follow),
        .password = s->options.password,
        .prefix = s->options.prefix,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_ready = on_topic_ready,
        .on_settings = on_topic_settings,
        .on_hint = on_hint,
        .on_up = on_wakeups_turned,
        .on_down = on_wakeups_turned,
        .on_stopped = on_part_stopped,
        .arg = s,
    };

    return redis_wakeups_new(loop, s->link, &wakeups);
}

enum status redis_store_make_parts(struct redis_store *s, struct loop *loop)
{
    s->follow = make_follow(s, loop);
    if (!s->follow)
        return STATUS_BAD_CONFIG;
    s->link = make_link(s, loop);
    s->handshake = make_handshake(s, loop);
    if (s->options.min_replicas > 0)
        s->replicas = make_replicas(s, loop);
    s->requests =
        redis_requests_new(loop, &s->options, &s->stats, s->link, s->handshake, s->replicas);
    redis_requests_tell(s->requests, &s->port.events);
    s->wakeups = make_wakeups(s, loop);
    redis_follow_attach(s->follow, s->link, s->wakeups);
    return STATUS_OK;
}
