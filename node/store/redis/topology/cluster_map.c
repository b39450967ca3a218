#include "node/store/redis/topology/cluster_map.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/wire/conn.h"
#include "node/store/redis/wire/error.h"
#include "node/store/redis/wire/link.h"

#define CLUSTER_MAP_EVERY_MS 5000
#define CLUSTER_MAP_AGAIN_MS 100

#define SCHEME "cluster://"

/* A Redis Cluster's nodes talk by TCP, and so must its followers. */
static bool has_socket(const struct redis_seeds *seeds)
{
    for (unsigned i = 0; i < seeds->count; i++) {
        if (seeds->list[i].port == 0)
            return true;
    }
    return false;
}

enum status redis_seeds_parse(const char *text, struct redis_seeds *seeds)
{
    struct redis_seeds parsed = {.count = 0};

    if (strncmp(text, "cluster:", strlen("cluster:")) != 0)
        return STATUS_NOT_FOUND;
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 ||
        redis_address_parse_list(text + strlen(SCHEME), REDIS_PORT, parsed.list,
                                 REDIS_SEEDS_MAX, &parsed.count) != STATUS_OK ||
        has_socket(&parsed))
        return STATUS_BAD_CONFIG;
    *seeds = parsed;
    return STATUS_OK;
}

/* CLUSTER INFO tells what kind of node answers. It goes in one write with CLUSTER SLOTS, so
 * that the epoch is not newer than the map.
 */

#define TIMEOUT_MS   1000
#define SHUN_MS      5000 /* a node that has not answered is asked last, for so long */
#define ASKED_MAX    (REDIS_SEEDS_MAX + REDIS_MASTERS_MAX)
#define META_KEY_MAX 64
#define NAME         "Redis Cluster"

enum map_state { STOPPED, RESTING, LOOKING, ASKING, CLOSING };

/* A node that can be asked: a seed, or a master of the last map. */
struct asked {
    int64_t shun_mono_ms; /* until then, others first */
    bool is_lasting;      /* cannot answer until somebody changes something; till asked again */
};

struct redis_cluster_map {
    struct redis_cluster_map_options options;
    struct loop *loop;
    enum map_state state;
    struct redis_target target;
    struct redis_conn conn; /* in ASKING and CLOSING */
    struct timer timer;     /* what it means depends on the state: see on_timer */
    struct redis_call info, slots;
    struct redis_seeds seeds;
    char meta_key[META_KEY_MAX];
    unsigned turn;                  /* the node asked now, or last: an index of `asked` */
    struct asked asked[ASKED_MAX];  /* the seeds, then the masters of the map */
    struct redis_address connected; /* numeric */
    int64_t asked_mono_ms;          /* when the last reading began */
    struct redis_map_origin origin; /* of this answer; epoch -1: not said yet */
    bool is_stale;                  /* since this reading began */
    bool is_stopping;
    unsigned drain_turns; /* of the loop, before it has stopped: a lookup was cancelled */

    struct redis_map map; /* the last one that was believed */
    bool has_map;
    struct redis_map_trust trust;
    struct redis_last_error why;
};

static int64_t now(const struct redis_cluster_map *m)
{
    return timers_now(&m->loop->timers);
}

static void wait_ms(struct redis_cluster_map *m, int64_t ms)
{
    timer_arm(&m->loop->timers, &m->timer, ms);
}

/* ---- whom to ask ---- */

static unsigned count_asked(const struct redis_cluster_map *m)
{
    return m->seeds.count + m->map.master_count;
}

static const struct redis_address *address_of(const struct redis_cluster_map *m, unsigned i)
{
    return i < m->seeds.count ? &m->seeds.list[i] : &m->map.masters[i - m->seeds.count];
}

/* The next node; one that has not answered lately only where none has. */
static void take_turn(struct redis_cluster_map *m)
{
    unsigned count = count_asked(m), next = m->turn;

    assert(count > 0);
    for (unsigned i = 0; i < count; i++) {
        next = (next + 1) % count;
        if (m->asked[next].shun_mono_ms <= now(m)) {
            m->turn = next;
            return;
        }
    }
    m->turn = (m->turn + 1) % count;
}

/* ---- the end of a reading ---- */

/* The calls in flight end in the next turn of the loop: this may be inside a callback of the
 * connection. */
static void leave(struct redis_cluster_map *m)
{
    m->state = CLOSING;
    wait_ms(m, 0);
}

static void fail(struct redis_cluster_map *m, const char *why, bool is_lasting)
{
    struct asked *asked = &m->asked[m->turn];
    char where[REDIS_ADDRESS_CHARS];

    redis_address_print(address_of(m, m->turn), where);
    redis_last_error_set(&m->why, m->is_stopping ? LEVEL_DEBUG : LEVEL_WARN, NAME, where, why,
                         now(m));
    asked->shun_mono_ms = now(m) + SHUN_MS;
    asked->is_lasting = is_lasting;
    m->is_stale = true; /* nothing better is known yet */
    leave(m);
}

static void on_lost(void *arg, const char *why)
{
    fail(arg, why, redis_error_is_lasting(why));
}

/* on_lost has noted it. */
static void on_refused(void *arg, const char *why)
{
}

/* True: no configured node can answer until somebody changes something, and there is no map. */
static bool is_lasting(const struct redis_cluster_map *m)
{
    for (unsigned i = 0; i < m->seeds.count; i++) {
        if (!m->asked[i].is_lasting)
            return false;
    }
    return !m->has_map && !m->is_stopping;
}

static void stop_or_go_on(struct redis_cluster_map *m)
{
    if (m->is_stopping && m->drain_turns > 0) {
        m->drain_turns--;
        wait_ms(m, 0);
    } else if (m->is_stopping) {
        m->state = STOPPED;
        m->options.on_stopped(m->options.arg);
    }
}

static void rest(struct redis_cluster_map *m)
{
    redis_conn_fail(&m->conn);
    m->state = RESTING;
    if (m->is_stopping) {
        stop_or_go_on(m);
        return;
    }
    wait_ms(m, m->is_stale ? CLUSTER_MAP_AGAIN_MS : CLUSTER_MAP_EVERY_MS);
    if (is_lasting(m))
        m->options.on_refused(m->options.arg, m->why.text);
}

/* ---- what it answers ---- */

#define BY_ITSELF(scheme)                                                                      \
    "is a Redis by itself, no node of a Redis Cluster; list nodes of the Redis Cluster only, " \
    "or give store.redis this one as " scheme "://host:port"

static void complain(struct redis_cluster_map *m, const char *error)
{
    const char *why = error;

    if (strstr(error, "cluster support disabled"))
        why = m->options.login.tls ? BY_ITSELF("rediss") : BY_ITSELF("redis");
    else if (!strncmp(error, "NOAUTH", 6))
        why = "wants a password; set store.password_file";
    fail(m, why, why != error || redis_error_is_lasting(error));
    redis_conn_close(&m->conn);
}

/* "cluster_state:ok\r\n...cluster_current_epoch:6\r\n..." */
static struct redis_map_origin read_origin(const redisReply *reply)
{
    static const char name[] = "cluster_current_epoch:";
    const char *text = reply->type == REDIS_REPLY_STRING ? reply->str : "";
    const char *epoch = strstr(text, name);

    return (struct redis_map_origin){
        .is_ok = strstr(text, "cluster_state:ok") != NULL,
        .epoch = epoch ? strtoll(epoch + strlen(name), NULL, 10) : -1,
    };
}

/* Loss of the connection is told by on_lost. */
static void on_info(struct redis_call *call, const redisReply *reply)
{
    struct redis_cluster_map *m = CONTAINER_OF(call, struct redis_cluster_map, info);

    if (!reply || m->state != ASKING)
        return;
    m->origin = read_origin(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        complain(m, reply->str);
    else if (m->origin.epoch < 0)
        complain(m, "an answer to CLUSTER INFO without cluster_current_epoch");
}

/* The store logs which bucket goes where. */
static void say_what_is_new(const struct redis_cluster_map *m, const struct redis_map *map)
{
    if (!m->has_map || m->map.master_count != map->master_count ||
        m->map.covered != map->covered)
        LOG_INFO("redis",
                 NAME ": epoch %lld: masters of our buckets: %u; slots with a master: "
                      "%u of %u",
                 (long long)m->origin.epoch, map->master_count, map->covered, REDIS_SLOTS);
}

/* What is known of the masters is kept only where all masters are the same. */
static void adopt(struct redis_cluster_map *m, const struct redis_map *map)
{
    say_what_is_new(m, map);
    m->asked[m->turn] = (struct asked){0};
    if (memcmp(m->map.masters, map->masters, sizeof(map->masters)) != 0) {
        memset(&m->asked[m->seeds.count], 0, REDIS_MASTERS_MAX * sizeof(m->asked[0]));
        m->turn = m->turn < m->seeds.count ? m->turn : 0;
    }
    m->map = *map;
    m->has_map = true;
}

static void on_slots(struct redis_call *call, const redisReply *reply)
{
    struct redis_cluster_map *m = CONTAINER_OF(call, struct redis_cluster_map, slots);
    struct redis_map map;

    if (!reply || m->state != ASKING)
        return;
    if (reply->type == REDIS_REPLY_ERROR) {
        complain(m, reply->str);
        return;
    }
    if (redis_map_read(&map, reply, &m->connected, m->options.buckets,
                       bytes_of_text(m->meta_key)) != STATUS_OK) {
        complain(m, "an answer to CLUSTER SLOTS that is none");
        return;
    }
    leave(m);
    redis_conn_close(&m->conn);
    if (!redis_map_trust(&m->trust, m->origin, now(m))) {
        LOG_DEBUG("redis", NAME ": a map of epoch %lld is not believed",
                  (long long)m->origin.epoch);
        m->is_stale = true;
        return;
    }
    adopt(m, &map);
    m->options.on_map(m->options.arg, &m->map);
}

/* ---- asking ---- */

static void send(struct redis_cluster_map *m, struct redis_call *call, const char *what)
{
    const char *argv[] = {"CLUSTER", what};
    size_t lens[] = {7, strlen(what)};

    if (m->state == ASKING)
        redis_conn_send(&m->conn, call, 2, argv, lens);
}

static void on_open(void *arg)
{
    struct redis_cluster_map *m = arg;

    send(m, &m->info, "INFO");
    send(m, &m->slots, "SLOTS");
}

static void connect_to(struct redis_cluster_map *m, const struct redis_address *address)
{
    m->state = ASKING;
    m->connected = *address;
    timer_disarm(&m->loop->timers, &m->timer); /* the connection has deadlines of its own */
    redis_conn_open(&m->conn, address, address_of(m, m->turn)->host);
}

static void on_found(struct redis_target *target, const struct redis_address *address,
                     const char *why)
{
    struct redis_cluster_map *m = CONTAINER_OF(target, struct redis_cluster_map, target);

    if (address)
        connect_to(m, address);
    else
        fail(m, why, false);
}

static void ask(struct redis_cluster_map *m)
{
    const struct redis_address *address;

    take_turn(m);
    m->is_stale = false;
    m->origin.epoch = -1;
    m->asked_mono_ms = now(m);
    m->asked[m->turn].is_lasting = false;
    redis_target_set(&m->target, address_of(m, m->turn));
    m->state = LOOKING;
    address = redis_target_look(&m->target);
    if (address)
        connect_to(m, address);
    else
        wait_ms(m, m->conn.timeout_ms);
}

static void on_timer(struct timer *timer)
{
    struct redis_cluster_map *m = CONTAINER_OF(timer, struct redis_cluster_map, timer);

    switch (m->state) {
    case STOPPED:
    case ASKING:
        break;
    case RESTING:
        if (m->is_stopping)
            stop_or_go_on(m);
        else
            ask(m);
        break;
    case LOOKING:
        redis_target_stop_looking(&m->target);
        fail(m, "the name service does not answer in time", false);
        break;
    case CLOSING:
        rest(m);
        break;
    }
}

/* ---- for the owner ---- */

bool redis_cluster_is_named(const char *address)
{
    struct redis_seeds seeds;

    return redis_seeds_parse(address, &seeds) != STATUS_NOT_FOUND;
}

struct redis_cluster_map *redis_cluster_map_new(struct loop *loop,
                                                const struct redis_cluster_map_options *options)
{
    struct redis_conn_events events = {
        .on_open = on_open, .on_lost = on_lost, .on_refused = on_refused};
    struct redis_seeds seeds;
    struct redis_cluster_map *m;

    if (redis_seeds_parse(options->address, &seeds) != STATUS_OK) {
        LOG_ERROR("redis", "not addresses of a Redis Cluster: '%s'", options->address);
        return NULL;
    }
    m = must(calloc(1, sizeof(*m)));
    m->options = *options;
    m->loop = loop;
    m->seeds = seeds;
    m->turn = seeds.count - 1; /* the first one is next */
    m->info.on_reply = on_info;
    m->slots.on_reply = on_slots;
    snprintf(m->meta_key, sizeof(m->meta_key), "%s:meta", options->prefix);
    timer_init(&m->timer, on_timer);
    events.arg = m;
    redis_target_init(&m->target, loop, &seeds.list[0], on_found);
    redis_conn_init(&m->conn, loop, &options->login,
                    options->timeout_ms < TIMEOUT_MS ? options->timeout_ms : TIMEOUT_MS,
                    &events);
    return m;
}

void redis_cluster_map_free(struct redis_cluster_map *m)
{
    if (!m)
        return;
    assert(m->state == STOPPED);
    redis_target_fini(&m->target);
    redis_conn_fini(&m->conn);
    free(m);
}

void redis_cluster_map_start(struct redis_cluster_map *m)
{
    assert(m->state == STOPPED);
    m->state = RESTING;
    m->is_stopping = false;
    wait_ms(m, 0);
}

void redis_cluster_map_stop(struct redis_cluster_map *m)
{
    m->is_stopping = true;
    redis_target_stop_looking(&m->target);
    if (redis_target_cancel(&m->target))
        m->drain_turns = RESOLVE_DRAIN_TURNS;
    redis_conn_close(&m->conn);
    leave(m);
}

void redis_cluster_map_stale(struct redis_cluster_map *m)
{
    int64_t left_ms = m->asked_mono_ms + CLUSTER_MAP_AGAIN_MS - now(m);

    if (m->is_stale || m->is_stopping)
        return;
    m->is_stale = true;
    if (m->state == RESTING)
        wait_ms(m, left_ms > 0 ? left_ms : 0);
}

const char *redis_cluster_map_why(const struct redis_cluster_map *m)
{
    return m->has_map ? "" : m->why.text;
}
