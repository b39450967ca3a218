/* Is this Redis ours, and usable? The checks on a fresh connection before jobs travel on it.
 *
 *   INFO         it is not loading, not a replica, new enough; append-only file, eviction
 *   CONFIG GET   appendfsync, min-replicas-to-write
 *   PING         it can write its files
 *   meta         our schema and number of buckets; written when the Redis is empty
 *   PUBLISH      we may, to the channel of the wake-ups
 *   SCRIPT LOAD  all scripts
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
#include "node/store/redis/wire/link.h"
#include "node/store/redis/wire/encode.h"

/* What the Redis belongs to: may another one take its place? */
enum redis_kind { REDIS_ALONE, REDIS_OF_SENTINELS, REDIS_OF_CLUSTER };

struct redis_handshake_options {
    struct script_keys keys;
    bool is_strict;                        /* refuse what otherwise gets a warning only */
    unsigned min_replicas;                 /* that are asked for; see durability.h */
    const _Atomic uint64_t *aof_cut_bytes; /* see options.h */
    enum redis_kind kind;
    struct timers *timers;
    int64_t look_ms; /* how often to look again at Redis's set-up */
};

struct redisReply;
struct redis_handshake;
struct redis_lane;

/* What a handshake tells its lane, which has these functions (lane.c). */
void redis_lane_on_ready(struct redis_lane *l);
void redis_lane_on_refused(void *lane, const char *why); /* so does the link */

/* Changed: 1 << enum weakness of each; 0 first. */
void redis_lane_on_weak(struct redis_lane *l, unsigned weak);

/* The lane and its link are borrowed for the handshake's life. */
struct redis_handshake *redis_handshake_new(const struct redis_handshake_options *options,
                                            struct redis_lane *lane, struct redis_link *link);
void redis_handshake_free(struct redis_handshake *h);

/* When the link has opened, or anew while it is open. A lost link ends the handshake without a
 * callback.
 */
void redis_handshake_start(struct redis_handshake *h, bool asks_meta);

/* An answer on this connection says that something is wrong: looks at the set-up again,
 * soon. */
void redis_handshake_look_soon(struct redis_handshake *h);

/* The script's SHA in Redis, 40 characters; valid once the lane is ready. */
const char *redis_handshake_sha(const struct redis_handshake *h, enum op_verb verb);

/* The incarnation of Redis; valid once the lane is ready. */
const struct redis_incarnation *redis_handshake_incarnation(const struct redis_handshake *h);

/* A later answer on this connection is an error, or not what it must be: the connection is
 * closed and tried again; where that will not help, the lane is told why. */
void redis_handshake_refuse(struct redis_handshake *h, const char *what,
                            const struct redisReply *reply);

/* The steps of the handshake, for handshake.c, which takes them one after the other.
 *
 * To add a step: an ask_ function that sends its commands (none: the step is skipped), a take_
 * function that says of each reply whether to go on, and a line in handshake.c's table.
 */

#define HANDSHAKE_CALLS_MAX  OP_COUNT /* scripts are the most */
#define HANDSHAKE_SETUP_ASKS 4

/* One command of the current step, and which one it is (a verb). */
struct handshake_ask {
    struct redis_call call;
    struct redis_handshake *handshake;
    unsigned what;
};

struct redis_handshake {
    struct redis_handshake_options options;
    struct redis_lane *lane;
    struct redis_link *link;
    unsigned step;
    unsigned waiting_for; /* replies of this step */
    bool asks_meta;
    bool is_over; /* on this connection: later answers are ignored */
    char shas[OP_COUNT][SCRIPT_SHA_CHARS + 1];
    struct handshake_ask asks[HANDSHAKE_CALLS_MAX];

    struct redis_setup setup; /* as Redis last told it; its text is the next field */
    char appendfsync[16];
    unsigned weak;     /* as last judged, and told: 1 << enum weakness of each */
    struct timer look; /* while the connection is in use: when to look again */
    struct handshake_ask looks[HANDSHAKE_SETUP_ASKS];
    bool is_info_missing;  /* in this look */
    bool is_to_look_again; /* asked for since the last look began */
    bool is_looking_soon;  /* keeps the timer as it is: put off again and again, it would never
                            * fire */
};

#endif
