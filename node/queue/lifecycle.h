/* When the engine works: standing by, active, stopped.
 *
 *   STANDBY <---------------> ACTIVE
 *      |  activate, deactivate   |
 *      +-------> STOPPING <------+
 *                   |  all that was asked is answered, nothing is in flight
 *                   v
 *                STOPPED: on_stopped was called
 *
 * What consumers and producers ask for is done in STANDBY and ACTIVE alike: those are atomic
 * scripts, and any node may run them. What one node at a time is to do, the scans and the
 * repairs, is done in ACTIVE only; whatever else belongs to that duty begins and ends where
 * they do, in lifecycle.c.
 *
 * Where all nodes scan (queue_share) the scans go on in both, each bucket while the store
 * reaches it, and the duty is the repairs alone.
 *
 * STOPPING takes nothing new. Consumers that wait are answered at once, and what was handed
 * out is confirmed.
 */
#ifndef DUEQ_NODE_QUEUE_LIFECYCLE_H
#define DUEQ_NODE_QUEUE_LIFECYCLE_H

#include <stdbool.h>

#include "base/timer.h"

struct queue;

enum lifecycle_state {
    LIFECYCLE_STANDBY,
    LIFECYCLE_ACTIVE,
    LIFECYCLE_STOPPING,
    LIFECYCLE_STOPPED,
    LIFECYCLE_STATE_COUNT,
};

struct lifecycle {
    enum lifecycle_state state;
    struct timer stopped; /* calls on_stopped in a turn of its own */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

struct duty;

/* For duty.c: all that one node at a time is to do begins, and ends, here, bucket by bucket. */
void lifecycle_open_bucket(struct duty *d, unsigned bucket);
void lifecycle_shut_bucket(struct duty *d, unsigned bucket);
void lifecycle_end_duty(struct duty *d);
void lifecycle_fenced(struct duty *d);

/* For engine.c: the scans of a cluster in which all nodes scan; else those are the duty's. */
void lifecycle_on_up(struct queue *q);
void lifecycle_on_bucket(struct queue *q, unsigned bucket);

/* queue_activate(), queue_lead(), queue_deactivate(), queue_share() and queue_stop() are in
 * lifecycle.c, too. */
void lifecycle_init(struct queue *q);
void lifecycle_fini(struct queue *q);

/* Is what comes in refused with SHUTTING_DOWN? */
bool lifecycle_is_over(const struct queue *q);

/* Something has ended: perhaps it was the last that a stop waits for. */
void lifecycle_check_stopped(struct queue *q);

#endif
