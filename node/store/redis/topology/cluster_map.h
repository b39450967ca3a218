/* Keeps the map of a Redis Cluster: asks one node after the other until one answers, and again
 * when somebody has found it wrong (doc/redis-cluster.md).
 *
 *   RESTING -- stale, or CLUSTER_MAP_EVERY_MS over --> LOOKING -- address known --> ASKING
 *      ^                                                  |                           |
 *      |                                        no such   |        read: on_map;      |
 *      |                                        name      v        no answer          |
 *      +------------- the connection is let go of ---- CLOSING <----------------------+
 *
 * Each reading asks another node, over a connection of its own: the seeds of the configuration
 * and all masters of the last map take turns; a node that has not answered is asked last for
 * some seconds. After no answer, and while a slot has no master or a lane does not work (its
 * owner says redis_cluster_map_stale() again), it reads every CLUSTER_MAP_AGAIN_MS.
 *
 * A node that has lost touch with the others still answers, with an old map, which is not
 * believed (cluster_map.h).
 */
#ifndef DUEQ_NODE_STORE_REDIS_CLUSTER_MAP_H
#define DUEQ_NODE_STORE_REDIS_CLUSTER_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/status.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/conn.h"
#include "node/store/redis/topology/slots.h"

/* Which maps of a Redis Cluster are believed. Pure.
 *
 * A node that was cut off from the others still answers, with an old map. Two things give the
 * node away: its state is not "ok" when it cannot see most masters, and its epoch is below that
 * of the others, who have raised theirs with a failover. (A replica that was cut off may have
 * raised its own without success, but is not "ok".) So a map is believed that is as good as the
 * last one: "ok" counts before the epoch. After REDIS_MAP_DOUBT_MS without such a map any is
 * believed: the Redis Cluster is down as a whole, or was made anew.
 */

#define REDIS_MAP_DOUBT_MS 10000

struct redis_map_origin {
    bool is_ok;    /* cluster_state */
    int64_t epoch; /* cluster_current_epoch */
};

/* All zero at first. */
struct redis_map_trust {
    bool has_any;
    struct redis_map_origin last; /* that was believed */
    int64_t last_mono_ms;
};

/* Is the map of such a node believed? Then it is the last one. */
static inline bool redis_map_trust(struct redis_map_trust *t, struct redis_map_origin origin,
                                   int64_t now_mono_ms)
{
    bool is_better = origin.is_ok && !t->last.is_ok;
    bool is_as_good = origin.is_ok == t->last.is_ok && origin.epoch >= t->last.epoch;

    if (t->has_any && !is_better && !is_as_good &&
        now_mono_ms - t->last_mono_ms < REDIS_MAP_DOUBT_MS)
        return false;
    *t = (struct redis_map_trust){true, origin, now_mono_ms};
    return true;
}

/* The nodes of a Redis Cluster that a configuration names. Pure. */

#define REDIS_SEEDS_MAX 16

/* "cluster://10.0.0.1,10.0.0.2:7001,[::1]:7002" */
struct redis_seeds {
    struct redis_address list[REDIS_SEEDS_MAX];
    unsigned count;
};

/* BAD_CONFIG: it begins with "cluster:" and is none of these. NOT_FOUND: it does not. */
enum status redis_seeds_parse(const char *text, struct redis_seeds *seeds) MUST_CHECK;

struct redis_cluster_map_options {
    const char *address; /* "cluster://host:port,host:port" */
    struct redis_login login;
    const char *prefix; /* for the slot of <prefix>:meta */
    unsigned buckets;
    int64_t timeout_ms; /* to connect, to answer; at most a second is used */
    /* A map was read; also where it is the same as before. Borrowed for the call. */
    void (*on_map)(void *arg, const struct redis_map *map);
    /* There never was a map, and no node of the configuration can give one, until somebody
     * changes something: each is none of a Redis Cluster, or refuses certificate or password,
     * or shows a bad certificate. They are asked on. */
    void (*on_refused)(void *arg, const char *why);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_cluster_map;

/* Is it a Redis Cluster's address at all? */
bool redis_cluster_is_named(const char *address);

/* NULL: no address; the log says so. Texts are borrowed for its life. */
struct redis_cluster_map *
redis_cluster_map_new(struct loop *loop, const struct redis_cluster_map_options *options);
void redis_cluster_map_free(struct redis_cluster_map *m); /* stopped or never started */
void redis_cluster_map_start(struct redis_cluster_map *m);
void redis_cluster_map_stop(struct redis_cluster_map *m);

/* The map may be wrong: reads it again soon, but not more often than every
 * CLUSTER_MAP_AGAIN_MS. Nothing is called back from inside. */
void redis_cluster_map_stale(struct redis_cluster_map *m);

/* Why there is no map yet, for people; "" when there is one. Borrowed until the next turn. */
const char *redis_cluster_map_why(const struct redis_cluster_map *m);

#endif
