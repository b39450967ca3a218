/* Is this Redis ours, and fit? What happens on a fresh connection before jobs travel on it.
 *
 *   INFO         it is not loading, not a replica, new enough; append-only file, eviction
 *   CONFIG GET   appendfsync, min-replicas-to-write
 *   PING         it can write its files
 *   meta         our schema and number of buckets; written when the Redis is empty
 *   PUBLISH      we may, to the channel of the wake-ups
 *   SCRIPT LOAD  all scripts
 *
 * Where the Redis is one of several, meta is asked of the one that has its slot. What each
 * bucket must show comes after it: route.h.
 *
 * Each step's replies decide: go on, come back later (the connection is closed and tried
 * again), or refuse (the same, and the owner is told, so that a node can end at its start). An
 * error that may pass by itself means later, see error.h.
 */
#ifndef DUEQ_NODE_STORE_REDIS_HANDSHAKE_H
#define DUEQ_NODE_STORE_REDIS_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/info.h"
#include "node/store/redis/link.h"
#include "node/store/redis/scripts.h"

/* What it is one of: may another take its place? */
enum redis_kind { REDIS_ALONE, REDIS_OF_SENTINELS, REDIS_OF_CLUSTER };

struct redis_handshake_options {
    struct script_keys keys;
    bool is_strict;                        /* refuse what is only warned of otherwise */
    unsigned min_replicas;                 /* that are asked for; see weakness.h */
    const _Atomic uint64_t *aof_cut_bytes; /* see store.h */
    enum redis_kind kind;
    struct timers *timers;
    int64_t look_ms; /* after so long it looks again how Redis is set up */

    void (*on_weak)(void *arg,
                    unsigned weak); /* changed: 1 << enum weakness of each; 0 first */
    void (*on_ready)(void *arg);
    void (*on_refused)(void *arg, const char *why);
    void *arg;
};

struct redisReply;
struct redis_handshake;

/* The link is borrowed for the handshake's life. */
struct redis_handshake *redis_handshake_new(const struct redis_handshake_options *options,
                                            struct redis_link *link);
void redis_handshake_free(struct redis_handshake *h);

/* When the link has opened, or anew while it is open. Loss of the link ends it without a word.
 */
void redis_handshake_start(struct redis_handshake *h, bool asks_meta);

/* An answer on this connection says that something is wrong: looks at it again, soon. */
void redis_handshake_look_soon(struct redis_handshake *h);

/* The script's name to Redis, 40 characters; once on_ready was called. */
const char *redis_handshake_sha(const struct redis_handshake *h, enum op_verb verb);

/* Which Redis it was; once on_ready was called. */
const struct redis_life *redis_handshake_life(const struct redis_handshake *h);

/* A later answer on this connection is not what it must be, or an error: the connection is
 * closed and tried again, and where that will not help the owner hears why. */
void redis_handshake_refuse(struct redis_handshake *h, const char *what,
                            const struct redisReply *reply);

#endif
