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
 * Each bucket's requests wait for themselves, and go by the lane that the route names: first
 * come, first sent; where buckets of a lane wait for room they take turns. A request is on one
 * list, and that is its state. What was answered and promises something may wait for replicas
 * before its on_done (replicas.c).
 *
 * What only a leader may do (op_is_fenced) is never held and never sent again: it goes when it
 * is submitted, before whatever waits, or ends UNAVAILABLE.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REQUESTS_H
#define DUEQ_NODE_STORE_REDIS_REQUESTS_H

#include "node/store/redis/route.h"
#include "node/store/redis/store.h"

struct redis_requests;

/* All are borrowed for its life: the options (of the store), the counters it keeps, and the
 * route, with the marks that it notes answers in. */
struct redis_requests *redis_requests_new(struct loop *loop,
                                          const struct redis_store_options *options,
                                          struct redis_store_stats *stats,
                                          struct redis_route *route);
void redis_requests_free(struct redis_requests *q); /* nothing on its way; NULL is fine */

/* The options have changed. */
void redis_requests_reload(struct redis_requests *q);

/* Who hears of what is due before its answer comes: borrowed. */
void redis_requests_tell(struct redis_requests *q, const struct store_events *events);

void redis_requests_submit(struct redis_requests *q, struct op *op);

/* Nobody waits for it any more: see store_abandon(). */
void redis_requests_abandon(struct redis_requests *q, struct op *op);

/* Where there are several masters: what their answers say of where a bucket is. Not called from
 * inside a submission. */
struct redis_requests_events {
    void (*on_moved)(void *arg, unsigned bucket, const struct redis_address *to);
    void (*on_lost)(void *arg, unsigned bucket); /* nobody has it */
    /* The oldest lane that is connected and whose serial is that, or higher; NULL: none. */
    struct redis_lane *(*lane_from)(void *arg, unsigned serial);
    void *arg;
};
void redis_requests_follow(struct redis_requests *q,
                           const struct redis_requests_events *events);

/* The bucket is open: what is held there goes with the next redis_requests_send(). It is not
 * reached any more. */
void redis_requests_opened(struct redis_requests *q, unsigned bucket);
void redis_requests_shut(struct redis_requests *q, unsigned bucket);

/* What is held goes by this lane, as far as there is room. */
void redis_requests_send(struct redis_requests *q, struct redis_lane *lane);

/* Does anything wait for one of the lane's buckets? */
bool redis_requests_wait_for(const struct redis_requests *q, const struct redis_lane *lane);

/* What is held, and what is submitted from now on, ends with SHUTTING_DOWN. on_idle is called,
 * perhaps at once, when nothing is on its way any more; nothing is submitted after that. */
void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg);

#endif
