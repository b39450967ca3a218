/* Is this Redis ours, and usable? The checks on a fresh connection before jobs travel on it.
 *
 *   INFO         it is not loading, not a replica, new enough; append-only file, eviction
 *   CONFIG GET   appendfsync, min-replicas-to-write
 *   PING         it can write its files
 *   meta         our schema and number of buckets, and the key for leases' checks; written when
 *                the Redis is empty. The key is looked at again and again: it may have been
 * lost under running nodes, which must not differ in it PUBLISH      we may, to the channel of
 * the wake-ups SCRIPT LOAD  all scripts
 *
 * Where there are several masters, meta is asked of the one that has its slot. The checks of
 * each bucket come after the handshake: route.h.
 *
 * Each step's replies decide: go on, come back later (the connection is closed and tried
 * again), or refuse (the same, and the owner is told, so that a node can end at its start). An
 * error that may pass by itself means later, see error.h.
 */
#ifndef DUEQ_NODE_STORE_REDIS_HANDSHAKE_H
#define DUEQ_NODE_STORE_REDIS_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/durability.h"
#include "node/store/redis/options.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/wire/encode.h"

/* What the Redis belongs to: may another one take its place? */
enum redis_kind { REDIS_ALONE, REDIS_OF_SENTINELS, REDIS_OF_CLUSTER };

struct redisReply;
struct store;
struct redis_handshake;
struct redis_lane;

/* What a handshake tells its lane, which has these functions (lane.c). */
void redis_lane_on_ready(struct redis_lane *l);
void redis_lane_on_refused(void *lane, const char *why); /* so does the link */

/* Is dq:meta asked of this one? That may change while it is connected. */
bool redis_lane_has_meta(const struct redis_lane *l);

/* Changed: 1 << enum weakness of each; 0 first. */
void redis_lane_on_weak(struct redis_lane *l, unsigned weak);

/* All are borrowed for the handshake's life; the link is the lane's. The port's lease_key
 * is written with what the store has, and offered to a store that has none. */
struct redis_handshake *redis_handshake_new(const struct redis_store_options *options,
                                            enum redis_kind kind, struct timers *timers,
                                            struct redis_lane *lane, struct redis_link *link,
                                            struct store *port);
void redis_handshake_free(struct redis_handshake *h);

/* When the link has opened, or anew while it is open. A lost link ends the handshake without a
 * callback.
 */
void redis_handshake_start(struct redis_handshake *h, bool asks_meta);

/* An answer on this connection says that something is wrong: looks at the set-up again,
 * soon. */
void redis_handshake_look_soon(struct redis_handshake *h);

/* The script's SHA in Redis, 40 characters; valid once the lane is ready. */
const char *redis_handshake_sha(const struct redis_handshake *h, unsigned script);

/* The incarnation of Redis; valid once the lane is ready. */
const struct redis_incarnation *redis_handshake_incarnation(const struct redis_handshake *h);

/* A later answer on this connection is an error, or not what it must be: the connection is
 * closed and tried again; where that will not help, the lane is told why. */
void redis_handshake_refuse(struct redis_handshake *h, const char *what,
                            const struct redisReply *reply);

#endif
