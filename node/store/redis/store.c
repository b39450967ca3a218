/* What a store on Redis reports of itself and of each master; the port; beginning and end. */
#include "node/store/redis/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/durability.h"
#include "node/store/redis/follow.h"
#include "node/store/redis/parts.h"
#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/wire/tls.h"

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
    return s->follow ? redis_follow_text(s->follow) : s->options.address;
}

/* ---- lanes ---- */

unsigned redis_store_lanes(const struct redis_store *s)
{
    unsigned count = 0;

    LIST_EACH (link, &s->lanes)
        count++;
    return count;
}

static const char *why_not(const struct redis_lane *l)
{
    const char *why = redis_link_why(l->link);

    if (l->is_usable)
        return l->is_leaving ? l->leaves_for : "";
    return *why ? why : "it is being connected to";
}

void redis_store_lane(const struct redis_store *s, unsigned i, struct redis_lane_stats *to)
{
    struct list *link = s->lanes.next;
    const struct redis_lane *l;

    while (i-- > 0)
        link = link->next;
    l = redis_store_lane_of(link);
    *to = (struct redis_lane_stats){
        .address = l->name,
        .state = redis_lane_word(l),
        .why = why_not(l),
        .is_up = l->is_usable && !l->is_leaving,
        .buckets = redis_route_count(&s->route, l),
        .in_flight = l->in_flight,
        .breaker = l->breaker.state,
    };
}

/* ---- why not ---- */

const char *redis_store_bucket_why(const struct redis_store *s, unsigned bucket,
                                   const char **address)
{
    const struct redis_bucket *b = &s->route.buckets[bucket];

    if (redis_bucket_is_reached(b))
        return NULL;
    *address = b->lane ? b->lane->name : "";
    if (!b->lane)
        return "no master has its slot";
    if (b->lane->is_usable)
        return *b->fault ? b->fault : "it has just come to this master";
    if (b->lane->is_ready && !s->route.is_ours)
        return "the master of the key 'meta' is missing";
    return why_not(b->lane);
}

/* The reason of the first bucket stands for all: none is reached. */
static const char *why_nothing_is_reached(const struct redis_store *s)
{
    const char *address;

    if (s->map && *redis_cluster_map_why(s->map))
        return redis_cluster_map_why(s->map);
    if (s->map)
        return list_is_empty(&s->lanes) ? "" : redis_store_bucket_why(s, 0, &address);
    return redis_link_why(redis_store_lane_of(s->lanes.next)->link);
}

const char *redis_store_why(const struct redis_store *s)
{
    if (s->stats.state == REDIS_STORE_UP)
        return "";
    return s->route.reached > 0 ? redis_wakeups_why(s->wakeups) : why_nothing_is_reached(s);
}

/* One master that takes writes is enough: only the others' buckets stand still. */
const char *redis_store_refuses_writes(const struct redis_store *s)
{
    const char *why = NULL;

    LIST_EACH (link, &s->lanes) {
        const struct redis_lane *l = redis_store_lane_of(link);
        const char *lane_why = NULL;

        for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
            if ((l->weak >> w & 1) && weakness_stops_writes((enum weakness)w))
                lane_why = weakness_what((enum weakness)w);
        if (l->is_usable && !lane_why)
            return NULL;
        if (l->is_usable)
            why = lane_why;
    }
    return why;
}

/* ---- the port ---- */

static void submit(struct store *port, struct op *op)
{
    redis_requests_submit(CONTAINER_OF(port, struct redis_store, port)->requests, op);
}

static void abandon(struct store *port, struct op *op)
{
    redis_requests_abandon(CONTAINER_OF(port, struct redis_store, port)->requests, op);
}

/* The bucket's own master, where it works and is heard: another one may be cut off. */
static const struct redis_lane *lane_of_hint(struct redis_store *s, unsigned bucket)
{
    const struct redis_lane *l = s->route.buckets[bucket].lane;

    if (l && redis_lane_is_connected(l) && !l->beat.is_unheard)
        return l;
    return redis_store_lane_from(s, 0);
}

static void hint(struct store *port, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct redis_store *s = CONTAINER_OF(port, struct redis_store, port);
    const struct redis_lane *l = lane_of_hint(s, bucket);

    if (l)
        redis_wakeups_hint(s->wakeups, l->link, bucket, share, wait_ms);
}

/* ---- making one ---- */

#define BUCKETS_MAX 128 /* so that ids stay below 2^53 */

static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.-");

    return len >= 1 && len <= max && !text[len];
}

/* Logs what is wrong. */
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
        .replies_max = 8u << 20,
        .held_max = 20000,
        .bytes_max = 256u << 20,
        .breaker_after_ms = 10000,
        .breaker_failures = 3,
        .breaker_probes = 16,
        .replica_timeout_ms = 1000,
    };
}

struct redis_store *redis_store_new(struct loop *loop,
                                    const struct redis_store_options *options)
{
    static const struct store_ops ops = {.submit = submit, .abandon = abandon, .hint = hint};
    struct redis_store *s;

    if (check(options) != STATUS_OK)
        return NULL;
    s = must(calloc(1, sizeof(*s)));
    s->loop = loop;
    s->options = *options;
    s->port.ops = &ops;
    s->port.buckets = options->buckets;
    s->stats.certificate_end_s = (uint64_t)redis_tls_end_s(options->tls);
    redis_state_log_init(&s->state_log, &loop->timers, s->up_at);
    if (redis_store_make_parts(s) == STATUS_OK) {
        s->port.worker = push_ledger_worker(s->marks->ledger);
        return s;
    }
    redis_state_log_fini(&s->state_log);
    free(s);
    return NULL;
}

void redis_store_free(struct redis_store *s)
{
    if (!s)
        return;
    redis_wakeups_free(s->wakeups);
    redis_requests_free(s->requests);
    redis_route_fini(&s->route);
    redis_store_free_lanes(s);
    redis_marks_free(s->marks);
    redis_follow_free(s->follow);
    redis_cluster_map_free(s->map);
    redis_state_log_fini(&s->state_log);
    free(s);
}

/* Changes the options in place: the requests and the lanes borrow them. */
void redis_store_reload(struct redis_store *s, const struct redis_store_options *options)
{
    s->options.hold_ms = options->hold_ms;
    s->options.held_max = options->held_max;
    s->options.breaker_after_ms = options->breaker_after_ms;
    s->options.breaker_failures = options->breaker_failures;
    s->options.breaker_probes = options->breaker_probes;
    s->stats.certificate_end_s = (uint64_t)redis_tls_end_s(s->options.tls);
    redis_requests_reload(s->requests);
    LIST_EACH (link, &s->lanes)
        redis_lane_reload(redis_store_lane_of(link));
}

void redis_store_stood_still(struct redis_store *s)
{
    redis_wakeups_prove_all(s->wakeups);
}

/* ---- life ---- */

void redis_store_start(struct redis_store *s)
{
    if (s->follow)
        redis_follow_start(s->follow);
    else
        redis_cluster_map_start(s->map);
    LIST_EACH (link, &s->lanes)
        redis_lane_start(redis_store_lane_of(link));
    redis_wakeups_start(s->wakeups);
}

static void on_idle(void *arg)
{
    struct redis_store *s = arg;

    s->is_ending = true;
    s->parts_running = 2;
    if (s->follow)
        redis_follow_stop(s->follow);
    else
        redis_cluster_map_stop(s->map);
    redis_wakeups_stop(s->wakeups);
    LIST_EACH (link, &s->lanes) {
        struct redis_lane *l = redis_store_lane_of(link);

        s->parts_running += !l->is_stopped;
        redis_lane_stop(l);
    }
}

void redis_store_stop(struct redis_store *s, void (*on_stopped)(void *arg), void *arg)
{
    assert(!s->is_stopping);
    s->is_stopping = true;
    s->on_stopped = on_stopped;
    s->stopped_arg = arg;
    LIST_EACH (link, &s->lanes)
        redis_store_lane_of(link)->is_ending = true;
    redis_requests_stop(s->requests, on_idle, s);
}

void redis_store_stop_now(struct redis_store *s)
{
    assert(s->is_stopping);
    LIST_EACH (link, &s->lanes)
        redis_lane_stop_now(redis_store_lane_of(link));
}
