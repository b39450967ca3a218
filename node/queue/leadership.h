/* When the engine stands by, works and stops; and what one node at a time is to do.
 *
 * Leadership is the scans and the repairs: from when they may begin until they have ended.
 *
 * It is OFF or ON: from begin to end, or until it is FENCED. While it is ON, each bucket is:
 *
 *           the store reaches it               the bucket has taken the token
 *   SHUT -------------------------> ASSERTING --------------------------------> OPEN
 *    ^                                  |                                         |
 *    +--- it does not, or is down ------+-----------------------------------------+
 *
 * ASSERTING: the leader's token is being made known to it (FENCE; to all buckets at once), so
 * that a deposed leader's scripts have no effect there. A bucket that did not answer well is
 * asked again; nothing is sent while this node may not act. One that refused the token in the
 * try before is asked when the others have answered, or after LED_RETRY_MS, because a refusal
 * ends the try.
 * OPEN: it is scanned. With the first one the reconciler begins: what it sends brings the
 * token.
 *
 * So a bucket that is away holds up no other, and has taken the token again when it is back: a
 * replica that was promoted meanwhile may not know it.
 *
 * Without a token a bucket is OPEN while the store does not say that it is away, up or down.
 *
 * What was sent before the end may still be answered after it; when nothing is left of what
 * only a leader may do, the leadership is drained.
 */
#ifndef DUEQ_NODE_QUEUE_LEADERSHIP_H
#define DUEQ_NODE_QUEUE_LEADERSHIP_H

#include <stdbool.h>

#include "base/timer.h"
#include "node/queue/queue.h"

#define LED_RETRY_MS 100 /* after an assertion that went wrong */

struct core;
struct led_bucket;

struct leadership {
    struct core *core;
    bool is_on;
    bool has_led;               /* since the last begin: the store has done something for it */
    struct queue_leader leader; /* of the last begin */
    char token[OP_TOKEN_MAX];
    bool is_store_up;

    struct led_bucket *buckets;
    unsigned asserting; /* how many of them are */
    struct timer again;

    struct timer news; /* tells the leader, in a turn of its own */
    bool is_draining;  /* it has ended, and that is not told yet */
    bool is_fenced;    /* since the last begin */
    bool is_fenced_told;
    char seen[OP_TOKEN_MAX]; /* what fenced it last, until all reached buckets take its token */
    size_t seen_len;
    bool is_retry; /* it was fenced before its last begin: `answer` of the buckets counts */
    int64_t refusers_from_mono_ms; /* those that refused it are asked then, in a retry */

    /* For engine.c: a bucket is to be scanned (also where it is), not to be; all has ended, by
     * itself too. */
    void (*on_open)(struct leadership *d, unsigned bucket);
    void (*on_shut)(struct leadership *d, unsigned bucket);
    void (*on_end)(struct leadership *d);
    void (*on_fenced)(struct leadership *d);
};

void leadership_init(struct leadership *d, struct core *core);
void leadership_fini(struct leadership *d);
void leadership_set_store(struct leadership *d, bool is_up);
void leadership_set_bucket(struct leadership *d,
                           unsigned bucket); /* core_is_away() has changed */

/* See queue_divided(). */
unsigned leadership_divided(const struct leadership *d, struct bytes *seen);

/* An operation has been answered: perhaps FENCED, perhaps the last. */
void leadership_after(struct leadership *d, const struct op *op);

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
 * repairs, is done in ACTIVE only; whatever else belongs to leadership begins and ends where
 * they do, in leadership.c.
 *
 * Where all nodes scan (queue_share) the scans go on in both, each bucket while the store
 * reaches it, and the leadership is the repairs alone.
 *
 * STOPPING takes nothing new. Consumers that wait are answered at once, and what was handed
 * out is confirmed.
 */

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

struct leadership;

/* For leadership.c: all that one node at a time is to do begins, and ends, here, bucket by
 * bucket. */
void lifecycle_open_bucket(struct leadership *d, unsigned bucket);
void lifecycle_shut_bucket(struct leadership *d, unsigned bucket);
void lifecycle_end_leadership(struct leadership *d);
void lifecycle_fenced(struct leadership *d);

/* For engine.c: the scans of a cluster in which all nodes scan; else those are the
 * leadership's. */
void lifecycle_on_up(struct queue *q);
void lifecycle_on_bucket(struct queue *q, unsigned bucket);

/* queue_activate(), queue_lead(), queue_deactivate(), queue_share() and queue_stop() are in
 * leadership.c, too. */
void lifecycle_init(struct queue *q);
void lifecycle_fini(struct queue *q);

/* Is what comes in refused with SHUTTING_DOWN? */
bool lifecycle_is_over(const struct queue *q);

/* Something has ended: perhaps it was the last that a stop waits for. */
void lifecycle_check_stopped(struct queue *q);

#endif
