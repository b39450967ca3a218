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
 * and all masters of the last map take turns, and who has not answered is asked last for some
 * seconds. After no answer, and while a slot has no master or a lane does not work (its owner
 * says redis_cluster_map_stale() again), it reads every CLUSTER_MAP_AGAIN_MS.
 *
 * A node that has lost touch with the others still answers, with an old map, which is not
 * believed (map_trust.h).
 */
#ifndef DUEQ_NODE_STORE_REDIS_CLUSTER_MAP_H
#define DUEQ_NODE_STORE_REDIS_CLUSTER_MAP_H

#include "base/loop.h"
#include "node/store/redis/slots.h"

#define CLUSTER_MAP_EVERY_MS 5000
#define CLUSTER_MAP_AGAIN_MS 100

struct redis_cluster_map_options {
    const char *address; /* "cluster://host:port,host:port" */
    const char *password;
    const char *prefix; /* for the slot of <prefix>:meta */
    unsigned buckets;
    int64_t timeout_ms; /* to connect, to answer; at most a second is used */
    /* A map was read; also where it is the same as before. Borrowed for the call. */
    void (*on_map)(void *arg, const struct redis_map *map);
    /* There never was a map, and each node of the configuration is none of a Redis Cluster, or
     * refuses the password: so it is until somebody changes something. It is asked on. */
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

/* The map is, or may be, wrong: it is read again soon; not more often than every
 * CLUSTER_MAP_AGAIN_MS. Nothing is called back from inside. */
void redis_cluster_map_stale(struct redis_cluster_map *m);

/* Why there is no map yet, for people; "" when there is one. Borrowed until the next turn. */
const char *redis_cluster_map_why(const struct redis_cluster_map *m);

#endif
