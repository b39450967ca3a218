/* What belongs to what: the command link and its handshake, the requests that travel on it,
 * the subscription beside it; and what all of them together mean for the node.
 */
#include "node/store/redis/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/handshake.h"
#include "node/store/redis/link.h"
#include "node/store/redis/replicas.h"
#include "node/store/redis/requests.h"
#include "node/store/redis/state_log.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/scripts.h"

#define BUCKETS_MAX 128 /* so that ids stay below 2^53 */

struct redis_store {
    struct store port;
    struct redis_store_options options;
    struct redis_link *link;
    struct redis_handshake *handshake;
    struct redis_requests *requests;
    struct redis_wakeups *wakeups;
    struct redis_replicas *replicas; /* NULL: none are waited for */
    struct redis_follow *follow;
    struct redis_store_stats stats;
    struct redis_state_log state_log;
    char up_at[REDIS_ADDRESS_CHARS]; /* the Redis that was up last */
    bool is_older;   /* it came back older, and the port's owner does not know */
    bool is_ready;   /* the handshake is done */
    bool is_refused; /* it was said; not again before the next handshake is done */
    bool is_stopping;
    unsigned parts_running; /* while stopping */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

static void submit(struct store *port, struct op *op)
{
    redis_requests_submit(CONTAINER_OF(port, struct redis_store, port)->requests, op);
}

static void abandon(struct store *port, struct op *op)
{
    redis_requests_abandon(CONTAINER_OF(port, struct redis_store, port)->requests, op);
}

static void hint(struct store *port, unsigned bucket, int64_t wait_ms)
{
    redis_wakeups_hint(CONTAINER_OF(port, struct redis_store, port)->wakeups, bucket, wait_ms);
}

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
static void on_hint(void *arg, unsigned bucket, int64_t wait_ms)
{
    struct redis_store *s = arg;

    if (bucket < s->port.buckets && s->port.events.on_hint)
        s->port.events.on_hint(s->port.events.arg, bucket, wait_ms);
}

/* ---- life ---- */

static void on_part_stopped(void *arg)
{
    struct redis_store *s = arg;

    if (--s->parts_running == 0)
        s->on_stopped(s->stopped_arg);
}

static void on_idle(void *arg)
{
    struct redis_store *s = arg;

    s->parts_running = s->replicas ? 4 : 3;
    redis_follow_stop(s->follow);
    redis_wakeups_stop(s->wakeups);
    if (s->replicas)
        redis_replicas_stop(s->replicas);
    redis_link_stop(s->link);
}

/* ---- making one ---- */

static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.-");

    return len >= 1 && len <= max && !text[len];
}

static enum status check(const struct redis_store_options *options)
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
        .held_max = 20000,
        .bytes_max = 256u << 20,
        .breaker_after_ms = 10000,
        .breaker_failures = 3,
        .breaker_trials = 16,
        .replica_timeout_ms = 1000,
    };
}

static struct redis_replicas *make_replicas(struct redis_store *s, struct loop *loop)
{
    struct redis_replicas_options options = {
        .password = s->options.password,
        .min_replicas = s->options.min_replicas,
        .patience_ms = s->options.replica_timeout_ms,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
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

static void make_parts(struct redis_store *s, struct loop *loop)
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

    s->link = redis_link_new(loop, &link);
    s->handshake = redis_handshake_new(&handshake, s->link);
    if (s->options.min_replicas > 0)
        s->replicas = make_replicas(s, loop);
    s->requests =
        redis_requests_new(loop, &s->options, &s->stats, s->link, s->handshake, s->replicas);
    redis_requests_tell(s->requests, &s->port.events);
    s->wakeups = redis_wakeups_new(loop, s->link, &wakeups);
    redis_follow_attach(s->follow, s->link, s->wakeups);
}

struct redis_store *redis_store_new(struct loop *loop,
                                    const struct redis_store_options *options)
{
    static const struct store_ops ops = {.submit = submit, .abandon = abandon, .hint = hint};
    struct redis_store *s;

    if (check(options) != STATUS_OK)
        return NULL;
    s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    s->options = *options;
    s->port.ops = &ops;
    s->port.buckets = options->buckets;
    s->follow = make_follow(s, loop);
    if (!s->follow) {
        free(s);
        return NULL;
    }
    redis_state_log_init(&s->state_log, &loop->timers, s->up_at);
    make_parts(s, loop);
    return s;
}

void redis_store_free(struct redis_store *s)
{
    if (!s)
        return;
    redis_wakeups_free(s->wakeups);
    redis_requests_free(s->requests);
    redis_replicas_free(s->replicas);
    redis_handshake_free(s->handshake);
    redis_link_free(s->link);
    redis_follow_free(s->follow);
    redis_state_log_fini(&s->state_log);
    free(s);
}

/* The requests borrow them. */
void redis_store_reload(struct redis_store *s, const struct redis_store_options *options)
{
    s->options.hold_ms = options->hold_ms;
    s->options.held_max = options->held_max;
    s->options.breaker_after_ms = options->breaker_after_ms;
    s->options.breaker_failures = options->breaker_failures;
    s->options.breaker_trials = options->breaker_trials;
    redis_requests_reload(s->requests);
}

struct store *redis_store_port(struct redis_store *s)
{
    return &s->port;
}

const struct redis_store_stats *redis_store_stats(const struct redis_store *s)
{
    return &s->stats;
}

const char *redis_store_address(const struct redis_store *s)
{
    return redis_follow_text(s->follow);
}

const char *redis_store_why(const struct redis_store *s)
{
    if (s->stats.state == REDIS_STORE_UP)
        return "";
    return s->is_ready ? redis_wakeups_why(s->wakeups) : redis_link_why(s->link);
}

void redis_store_start(struct redis_store *s)
{
    redis_follow_start(s->follow);
    redis_link_start(s->link);
    redis_wakeups_start(s->wakeups);
    if (s->replicas)
        redis_replicas_start(s->replicas);
}

void redis_store_stop(struct redis_store *s, void (*on_stopped)(void *arg), void *arg)
{
    assert(!s->is_stopping);
    s->is_stopping = true;
    s->on_stopped = on_stopped;
    s->stopped_arg = arg;
    redis_requests_stop(s->requests, on_idle, s);
}

void redis_store_hurry(struct redis_store *s)
{
    assert(s->is_stopping);
    redis_link_reset(s->link, "no time left to wait for answers");
    if (s->replicas)
        redis_replicas_give_up(s->replicas);
}
