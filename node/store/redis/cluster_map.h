/* Keeps the map of a Redis Cluster: asks one node after the other until one answers, and again
 * when somebody has found it wrong (doc/redis-cluster.md).
 *
 *   RESTING ---- stale, or CLUSTER_MAP_EVERY_MS over ----> ASKING ---- read: on_map ---->
 * RESTING |  ^ no answer: the next node, after a pause
 *
 * It has one connection of its own. It asks the seeds of the configuration, and all masters it
 * has heard of. While a slot has no master, or a lane does not work, its owner says
 * redis_cluster_map_stale() again, and it asks every CLUSTER_MAP_AGAIN_MS.
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
    /* What was asked is no Redis Cluster, or refuses the password; it is asked on. */
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
