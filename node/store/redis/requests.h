/* Operations on their way to Redis and back (doc/redis.md).
 *
 *             nobody waits, the bucket is open, room: at once
 *            .---------------------------------------.   .-- surely not run: sent again
 *           /                                         v /  |
 *   submit +---> held -- its bucket is open, room -> in flight ---> on_done
 *          |\    ^ `---- too long, or abandoned:         / link lost
 *          | \   |              UNAVAILABLE             /
 *          | \   `----------- can be retried --------- X
 *          |  `-> too many: TOO_MANY, in a later turn     `-- cannot: UNKNOWN
 *          `----> the breaker is open: UNAVAILABLE, in a later turn
 *
 * Each bucket has a queue of its own, first come, first sent, by the lane that the route names;
 * where buckets of a lane wait for room they take turns. The list that a request is on is its
 * state. An answer that promises something may wait for replicas before on_done (replicas.c).
 *
 * An operation that only a leader may run (OP_FENCED) is never held and never sent again: it
 * goes when it is submitted, before all that wait, or ends UNAVAILABLE.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REQUESTS_H
#define DUEQ_NODE_STORE_REDIS_REQUESTS_H

#include "node/store/redis/route.h"
#include "node/store/redis/store.h"

struct redis_requests;

/* All are borrowed for the queue's life: the store's options, the counters it keeps, and the
 * route, in whose marks it notes answers. */
struct redis_requests *redis_requests_new(struct loop *loop,
                                          const struct redis_store_options *options,
                                          struct redis_store_stats *stats,
                                          struct redis_route *route);
void redis_requests_free(struct redis_requests *q); /* nothing on its way; NULL is fine */

/* The options have changed. */
void redis_requests_reload(struct redis_requests *q);

/* `events` hears of due times before the answer comes (on_event); borrowed. */
void redis_requests_tell(struct redis_requests *q, const struct store_events *events);

void redis_requests_submit(struct redis_requests *q, struct op *op);

/* Nobody waits for it any more: see store_abandon(). */
void redis_requests_abandon(struct redis_requests *q, struct op *op);

/* For several masters: what their answers say of a bucket's place. Not called from inside a
 * submission. */
struct redis_requests_events {
    void (*on_moved)(void *arg, unsigned bucket, const struct redis_address *to);
    void (*on_lost)(void *arg, unsigned bucket); /* nobody has it */
    /* The oldest connected lane with this serial, or a higher one; NULL: none. */
    struct redis_lane *(*lane_from)(void *arg, unsigned serial);
    void *arg;
};
void redis_requests_follow(struct redis_requests *q,
                           const struct redis_requests_events *events);

/* opened: what the bucket holds goes with the next redis_requests_send(). shut: the bucket is
 * not reached any more. */
void redis_requests_opened(struct redis_requests *q, unsigned bucket);
void redis_requests_shut(struct redis_requests *q, unsigned bucket);

/* Sends what is held for this lane, as far as there is room. */
void redis_requests_send(struct redis_requests *q, struct redis_lane *lane);

/* Does anything wait for one of the lane's buckets? */
bool redis_requests_wait_for(const struct redis_requests *q, const struct redis_lane *lane);

/* Held operations, and those submitted from now on, end with SHUTTING_DOWN. on_idle is called,
 * perhaps at once, when nothing is on its way any more; nothing is submitted after that. */
void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg);

#endif
