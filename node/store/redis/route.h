/* Which lane a bucket goes by, and whether it can go (doc/redis-cluster.md).
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
 * less often. OPEN      requests go. After trouble one at a time, until one was answered well.
 * PAUSED    as RAISING: what goes there now is answered that it did not run.
 *
 * Trouble is what makes pauses. It goes on for as long as there are pauses again and again:
 * where some keys have gone, scripts that need none of them are answered well in between.
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
    struct raise_question *question; /* in flight; NULL: none, or of no matter any more */
    bool is_raised;                  /* RAISING: it waits for the others */
    unsigned hops;                   /* sent elsewhere so often, since it was OPEN */
    struct timer timer;              /* RAISING: ask again; PAUSED: it is over */
    int64_t again_ms;                /* RAISING: ask again after that */
    int64_t trouble_mono_ms; /* when this trouble began, and when it was heard of last; */
    int64_t heard_mono_ms;   /* 0: none since it came to this lane */
    char trouble[112];       /* for people; "": none since it came to this lane */
};

struct redis_route_events {
    /* What an error means where there are several masters; NULL: there is one. An answer to a
     * question has said that the bucket is at `to`, which may lead to redis_route_set(); or,
     * NULL, that it is nowhere. */
    void (*on_elsewhere)(void *arg, unsigned bucket, const struct redis_address *to);
    void (*on_rollback)(void *arg, const struct redis_rollback *found);
    void (*on_fit)(void *arg, struct redis_lane *l); /* it works: its buckets open now */
    void (*on_open)(void *arg, unsigned bucket);
    void (*on_shut)(void *arg, unsigned bucket); /* it was OPEN or PAUSED, and is neither */
    /* Of buckets of that lane: all is done that belongs together. The last. */
    void (*on_turned)(void *arg, struct redis_lane *l);
    void *arg;
};

struct redis_route {
    struct redis_bucket buckets[REDIS_MARKS_BUCKETS_MAX];
    unsigned count;
    unsigned reached;     /* OPEN or PAUSED */
    int64_t said_mono_ms; /* to the log: a bucket's trouble; 0: none */
    bool is_ours; /* the store's: <prefix>:meta was right once; no bucket opens before */
    struct script_keys keys;
    struct redis_marks *marks;
    struct timers *timers;
    struct redis_route_events events;
};

/* All are borrowed. Nobody has any bucket yet. */
void redis_route_init(struct redis_route *r, const struct script_keys *keys,
                      struct redis_marks *marks, struct timers *timers,
                      const struct redis_route_events *events);
void redis_route_fini(struct redis_route *r); /* no lane is ready any more */

/* The bucket goes by that lane, NULL: by none. */
void redis_route_set(struct redis_route *r, unsigned bucket, struct redis_lane *l);

/* Its handshake is done, and the store is ours; its connection is lost. */
void redis_route_lane_ready(struct redis_route *r, struct redis_lane *l);
void redis_route_lane_closed(struct redis_route *r, struct redis_lane *l);

/* What a request of an OPEN bucket was answered, which says that its keys are on their way
 * (`to` is read where it is ASK), or that nobody has them. Others are left as they are. */
void redis_route_pause(struct redis_route *r, unsigned bucket, enum redis_redirect redirect,
                       const struct redis_address *to, const char *error);

/* Can operations reach it, now or in a moment? */
static inline bool redis_bucket_is_reached(const struct redis_bucket *b)
{
    return b->state == BUCKET_OPEN || b->state == BUCKET_PAUSED;
}

/* How many buckets go by it. */
unsigned redis_route_count(const struct redis_route *r, const struct redis_lane *l);

#endif
