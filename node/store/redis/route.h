/* Which lane a bucket goes by, and whether requests can go there (doc/redis-cluster.md).
 *
 *   NOWHERE --- it has a lane that is ready, and the store is ours ---> RAISING
 *      ^                                                                  |
 *      |                          its counter and ledger were compared, and those of the
 *      |                          buckets that are asked together with it
 *      |                                                                  v
 *      +--- the lane was lost, or it goes by another one ----------------OPEN <--.
 *                        ^                                                |      | some ms
 *                        |             the keys are on their way elsewhere v      |
 *                        |                                              PAUSED ---'
 *                        `--- for longer than a second, or the Redis Cluster is down (OPEN)
 *
 * NOWHERE   nothing is sent; what is submitted waits.
 * RAISING   the same; the question of rollback.h is on its way, or goes again soon, less and
 *           less often.
 * OPEN      requests go; after fault one at a time, until one was answered well.
 * PAUSED    as NOWHERE: a request sent there now would be answered that it did not run.
 *
 * Trouble means pauses, and lasts as long as they come again and again: where some keys have
 * gone, scripts that need none of them are answered well in between.
 *
 * All buckets of a lane that gets ready are asked at once, and opened together.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ROUTE_H
#define DUEQ_NODE_STORE_REDIS_ROUTE_H

#include <stdbool.h>

#include "base/timer.h"
#include "node/store/redis/lane.h"
#include "node/store/redis/rollback.h"
#include "node/store/redis/topology/slots.h"

enum redis_bucket_state { BUCKET_NOWHERE, BUCKET_RAISING, BUCKET_OPEN, BUCKET_PAUSED };

struct redis_route;
struct raise_question;

/* For the requests to read. */
struct redis_bucket {
    enum redis_bucket_state state;
    struct redis_lane *lane; /* NULL: nobody has it */
    bool is_probing;         /* OPEN: one at a time */
    const void *probe;       /* the requests': the one that is on its way; NULL: none */

    /* The route's own. */
    struct redis_route *route;
    unsigned number;
    struct raise_question *question; /* in flight; NULL: none that matters */
    bool is_raised;        /* RAISING: its answer is good, it waits for the other buckets */
    unsigned hops;         /* how often it was sent elsewhere since it was OPEN */
    struct timer timer;    /* RAISING: ask again; PAUSED: it is over */
    int64_t again_ms;      /* RAISING: ask again after that */
    int64_t fault_mono_ms; /* when this fault began, and when it was heard of last; */
    int64_t heard_mono_ms; /* 0: none since it came to this lane */
    char fault[112];       /* for people; "": none since it came to this lane */
};

struct redis_route {
    struct redis_bucket buckets[REDIS_MARKS_BUCKETS_MAX];
    unsigned count;
    unsigned reached;     /* OPEN or PAUSED */
    int64_t said_mono_ms; /* when a bucket's fault was logged last; 0: never */
    bool is_ours;         /* <prefix>:meta was right once; no bucket opens before */
    struct script_keys keys;
    struct redis_marks *marks;
    struct timers *timers;
    struct redis_store *store;
    bool is_cluster; /* several masters, and which of them has a bucket may change */
};

/* What the route tells its store, which has these functions (parts.c, store_cluster.c). */

/* With is_cluster: an answer has said that the bucket is at `to`, which may lead to
 * redis_route_set(), or (`to` NULL) that it is nowhere. Not from inside a submission. */
void redis_store_on_elsewhere(struct redis_store *s, unsigned bucket,
                              const struct redis_address *to);
void redis_store_on_rollback(struct redis_store *s, const struct redis_rollback *found);

/* The lane works: its buckets open now. */
void redis_store_on_usable(struct redis_store *s, struct redis_lane *l);

/* open: it is OPEN. shut: it was OPEN or PAUSED, and is neither. */
void redis_store_on_bucket_open(struct redis_store *s, unsigned bucket);
void redis_store_on_bucket_shut(struct redis_store *s, unsigned bucket);

/* Last: all changes to that lane's buckets that belong together are done. */
void redis_store_on_route_turned(struct redis_store *s, struct redis_lane *l);

/* All are borrowed. No bucket has a lane yet. */
void redis_route_init(struct redis_route *r, const struct script_keys *keys,
                      struct redis_marks *marks, struct timers *timers,
                      struct redis_store *store, bool is_cluster);
void redis_route_fini(struct redis_route *r); /* no lane is ready any more */

/* The bucket goes by that lane, NULL: by none. */
void redis_route_set(struct redis_route *r, unsigned bucket, struct redis_lane *l);

/* The lane's handshake is done, and the store is ours; the lane's connection is lost. */
void redis_route_lane_ready(struct redis_route *r, struct redis_lane *l);
void redis_route_lane_closed(struct redis_route *r, struct redis_lane *l);

/* A request of an OPEN bucket was answered that its keys are on their way (`to` is read where
 * that is ASK), or that nobody has them. In other states nothing changes. */
void redis_route_pause(struct redis_route *r, unsigned bucket, enum redis_redirect redirect,
                       const struct redis_address *to, const char *error);

/* Can operations reach the bucket, now or in a moment? */
static inline bool redis_bucket_is_reached(const struct redis_bucket *b)
{
    return b->state == BUCKET_OPEN || b->state == BUCKET_PAUSED;
}

/* How many buckets go by the lane. */
unsigned redis_route_count(const struct redis_route *r, const struct redis_lane *l);

#endif
