/* The lanes, and which bucket goes by which. One Redis is one lane; a Redis Cluster has a lane
 * for each master that the map, or an answer (MOVED), names.
 *
 * A bucket stays with a working lane until the lane newly named for it is ready, too: so an old
 * map does no harm, and a master that has lost a bucket says so itself.
 */
#include "node/store/redis/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/wakeups.h"

#define TOLD_MAPS 10 /* 100 ms each */

/* ---- lanes ---- */

static struct redis_lane *find_lane(struct redis_store *s, const struct redis_address *address)
{
    LIST_EACH (link, &s->lanes) {
        struct redis_lane *l = redis_store_lane_of(link);

        if (!l->is_retired && redis_address_equal(redis_lane_address(l), address))
            return l;
    }
    return NULL;
}

static struct redis_lane *lane_at(struct redis_store *s, const struct redis_address *address)
{
    struct redis_lane *l = find_lane(s, address);

    if (!l) {
        l = redis_store_make_lane(s, address);
        redis_lane_start(l);
    }
    return l;
}

struct redis_lane *redis_store_lane_from(struct redis_store *s, unsigned serial)
{
    LIST_EACH (link, &s->lanes) {
        struct redis_lane *l = redis_store_lane_of(link);

        if (l->serial >= serial && redis_lane_is_connected(l))
            return l;
    }
    return NULL;
}

static bool is_named(const struct redis_store *s, const struct redis_lane *l)
{
    for (unsigned i = 0; i < s->options.buckets; i++) {
        if (s->named[i] == l)
            return true;
    }
    return l->has_meta || redis_route_count(&s->route, l) > 0;
}

static void retire_lanes(struct redis_store *s)
{
    LIST_EACH (link, &s->lanes) {
        struct redis_lane *l = redis_store_lane_of(link);

        if (l->is_retired || is_named(s, l))
            continue;
        redis_lane_retire(l);
        redis_wakeups_leave(s->wakeups, redis_lane_address(l));
    }
}

static void on_sweep(struct timer *timer)
{
    struct redis_store *s = CONTAINER_OF(timer, struct redis_store, sweep);

    LIST_EACH_SAFE (link, &s->lanes) {
        struct redis_lane *l = redis_store_lane_of(link);

        if (!l->is_stopped)
            continue;
        list_remove(link);
        redis_wakeups_remove(s->wakeups, &l->beat);
        redis_lane_free(l);
    }
    redis_store_on_lanes_turned(s);
}

void redis_store_free_lanes(struct redis_store *s)
{
    timer_disarm(&s->loop->timers, &s->sweep);
    LIST_EACH_SAFE (link, &s->lanes)
        redis_lane_free(redis_store_lane_of(link));
}

/* ---- by which a bucket goes ---- */

static void settle_bucket(struct redis_store *s, unsigned bucket)
{
    struct redis_lane *named = s->named[bucket];
    const struct redis_lane *now = s->route.buckets[bucket].lane;
    bool works = now && now->is_usable;

    if (!works || (named && named->is_ready))
        redis_route_set(&s->route, bucket, named);
}

static void settle(struct redis_store *s)
{
    for (unsigned i = 0; i < s->options.buckets; i++)
        settle_bucket(s, i);
    retire_lanes(s);
    if (s->route.reached < s->options.buckets)
        redis_cluster_map_stale(s->map);
}

/* ---- what is ours ---- */

static void name_meta(struct redis_store *s, struct redis_lane *named)
{
    LIST_EACH (link, &s->lanes)
        redis_store_lane_of(link)->has_meta = redis_store_lane_of(link) == named;
    if (named && named->is_ready && !s->route.is_ours)
        redis_lane_rehandshake(named);
}

static void take_ready_lanes(struct redis_store *s)
{
    LIST_EACH (link, &s->lanes) {
        if (redis_store_lane_of(link)->is_ready)
            redis_route_lane_ready(&s->route, redis_store_lane_of(link));
    }
}

/* The lane may have been given dq:meta after its handshake had begun. */
void redis_store_on_lane_ready(struct redis_store *s, struct redis_lane *l)
{
    bool is_first = l->has_shown_meta && !s->route.is_ours;

    if (is_first) {
        s->route.is_ours = true;
        take_ready_lanes(s);
    } else if (l->has_meta && !s->route.is_ours) {
        redis_lane_rehandshake(l);
    } else {
        redis_route_lane_ready(&s->route, l);
    }
    if (s->map)
        settle(s);
}

/* ---- what goes where, for the log ---- */

static const char *name_of(const struct redis_lane *l)
{
    return l ? l->name : "nobody";
}

/* Logs in one line all buckets that moved like bucket `first`, from the same lane to the
 * same. */
static void say_moved(const struct redis_store *s, struct redis_lane *const *before,
                      unsigned first)
{
    char text[REDIS_MARKS_BUCKETS_MAX * 6] = "";
    size_t len = 0;
    unsigned count = 0;

    for (unsigned i = first; i < s->options.buckets; i++) {
        if (before[i] != before[first] || s->named[i] != s->named[first])
            continue;
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", count++ ? ", " : "", i);
    }
    LOG_INFO("redis", "bucket%s %s: %s -> %s", count > 1 ? "s" : "", text,
             name_of(before[first]), name_of(s->named[first]));
}

static bool is_said(const struct redis_store *s, struct redis_lane *const *before,
                    unsigned bucket)
{
    for (unsigned i = 0; i < bucket; i++) {
        if (before[i] == before[bucket] && s->named[i] == s->named[bucket])
            return true;
    }
    return false;
}

/* Not for the first map. */
static void say_all_moved(const struct redis_store *s, struct redis_lane *const *before)
{
    for (unsigned i = 0; i < s->options.buckets; i++) {
        if (before[i] != s->named[i] && s->stats.maps_read > 1 && !is_said(s, before, i))
            say_moved(s, before, i);
    }
}

/* ---- what the map says ---- */

/* A map may be older than a MOVED: TOLD_MAPS maps may contradict, which take a second while a
 * bucket is missing. */
static void name_bucket(struct redis_store *s, unsigned bucket, struct redis_lane *by_map)
{
    if (s->named[bucket] == by_map)
        s->told[bucket] = 0;
    else if (s->told[bucket] > 0)
        s->told[bucket]--;
    else
        s->named[bucket] = by_map;
}

static void on_map(void *arg, const struct redis_map *map)
{
    struct redis_store *s = arg;
    struct redis_lane *lanes[REDIS_MASTERS_MAX], *before[REDIS_MARKS_BUCKETS_MAX];

    s->stats.maps_read++;
    memcpy(before, s->named, sizeof(before));
    if (s->is_stopping)
        return;
    for (unsigned i = 0; i < map->master_count; i++)
        lanes[i] = lane_at(s, &map->masters[i]);
    for (unsigned i = 0; i < s->options.buckets; i++)
        name_bucket(s, i,
                    map->of_bucket[i] == REDIS_NO_MASTER ? NULL : lanes[map->of_bucket[i]]);
    say_all_moved(s, before);
    name_meta(s, map->of_meta == REDIS_NO_MASTER ? NULL : lanes[map->of_meta]);
    settle(s);
}

void redis_store_on_elsewhere(struct redis_store *s, unsigned bucket,
                              const struct redis_address *to)
{
    struct redis_lane *named;

    redis_cluster_map_stale(s->map);
    if (!to || s->is_stopping)
        return;
    named = lane_at(s, to);
    if (s->named[bucket] != named)
        LOG_INFO("redis", "bucket %u: %s -> %s", bucket, name_of(s->named[bucket]),
                 named->name);
    s->named[bucket] = named;
    s->told[bucket] = TOLD_MAPS;
    redis_route_set(&s->route, bucket, s->named[bucket]);
}

void redis_store_on_lane_failed(struct redis_store *s)
{
    if (s->map && !s->is_stopping)
        settle(s);
}

enum status redis_store_make_map(struct redis_store *s)
{
    struct redis_cluster_map_options options = {
        .address = s->options.address,
        .login = redis_store_login(&s->options),
        .prefix = s->options.prefix,
        .buckets = s->options.buckets,
        .timeout_ms = s->options.command_timeout_ms,
        .on_map = on_map,
        .on_refused = redis_store_on_refused,
        .on_stopped = redis_store_part_stopped,
        .arg = s,
    };

    timer_init(&s->sweep, on_sweep);
    snprintf(s->up_at, sizeof(s->up_at), "%s", s->options.address);
    s->map = redis_cluster_map_new(s->loop, &options);
    return s->map ? STATUS_OK : STATUS_BAD_CONFIG;
}

/* ---- wake-ups ---- */

/* Rank 0: where the last one was. 2: those behind it, so that all have their turn. */
static bool is_better_lane(const struct redis_lane *a, int rank_a, const struct redis_lane *b,
                           int rank_b)
{
    if (rank_a == 0 || rank_b == 0)
        return rank_b == 0;
    if (a->beat.missed_at != b->beat.missed_at)
        return a->beat.missed_at < b->beat.missed_at;
    return rank_a > rank_b;
}

/* Subscribes at the ready master that misses the least, as far as is known; else at the first
 * one to get ready. But not where the last subscription was lost, if there is another. */
void redis_store_look_for_wakeups(void *arg)
{
    struct redis_store *s = arg;
    const struct redis_address *last = redis_wakeups_address(s->wakeups);
    const struct redis_lane *found = NULL;
    int found_rank = 0;
    bool is_past_last = false;

    LIST_EACH (link, &s->lanes) {
        const struct redis_lane *l = redis_store_lane_of(link);
        bool is_last = redis_address_equal(redis_lane_address(l), last);
        int rank = is_last ? 0 : is_past_last ? 2 : 1;

        is_past_last |= is_last;
        if (!l->is_usable || l->is_retired)
            continue;
        if (!found || is_better_lane(l, rank, found, found_rank)) {
            found = l;
            found_rank = rank;
        }
    }
    s->is_looking = !found;
    if (found)
        redis_wakeups_aim(s->wakeups, redis_lane_address(found));
}
