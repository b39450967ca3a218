/* The work of one node at a time, and the leader's token in every bucket.
 *
 * Leadership means the scans and the repairs, from when they may begin until they have ended.
 *
 * Leadership is ON from begin to end, or until it is FENCED; else OFF. While it is ON, each
 * bucket is:
 *
 *           the store reaches it               the bucket has taken the token
 *   SHUT -------------------------> ASSERTING --------------------------------> OPEN
 *    ^                                  |                                         |
 *    +--- it does not, or is down ------+-----------------------------------------+
 *
 * ASSERTING: the leader's token is being made known to it (FENCE; to all buckets at once), so
 * that a deposed leader's scripts have no effect there. A bucket that did not answer well is
 * asked again; nothing is sent while this node may not act. A bucket that refused the token in
 * the try before is asked when the others have answered, or after LED_RETRY_MS, because a
 * refusal ends the try.
 * OPEN: the bucket is scanned. With the first open bucket the reconciler begins: its operations
 * carry the token.
 *
 * So a bucket that is away holds up no other. A bucket that is back takes the token again: a
 * replica that was promoted meanwhile may not know it.
 *
 * Without a token a bucket is OPEN unless the store, up or down, says that the bucket is away.
 *
 * Operations sent before the end may be answered after it; when all that only a leader may send
 * are answered, the leadership is drained.
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
    bool is_draining;  /* it has ended, and on_drained is to come */
    bool is_fenced;    /* since the last begin */
    bool is_fenced_told;
    char seen[OP_TOKEN_MAX]; /* what fenced it last, until all reached buckets take its token */
    size_t seen_len;
    bool is_retry; /* it was fenced before its last begin: `answer` of the buckets counts */
    int64_t refusers_from_mono_ms; /* in a retry: when the buckets that refused it are asked */

    /* For engine.c. on_open: the bucket is to be scanned, perhaps it is already; on_shut: no
     * more; on_end: all is to end, also without leadership_end(). */
    void (*on_open)(struct leadership *l, unsigned bucket);
    void (*on_shut)(struct leadership *l, unsigned bucket);
    void (*on_end)(struct leadership *l);
    void (*on_fenced)(struct leadership *l);
};

void leadership_init(struct leadership *l, struct core *core);
void leadership_fini(struct leadership *l);

/* Not while it is ON. `leader` and its token are copied. */
void leadership_begin(struct leadership *l, const struct queue_leader *leader);
void leadership_end(struct leadership *l);

/* It ends, and the leader is told nothing more. */
void leadership_close(struct leadership *l);

void leadership_set_store(struct leadership *l, bool is_up);

/* core_is_away() has changed. */
void leadership_set_bucket(struct leadership *l, unsigned bucket);

/* See queue_divided(). */
unsigned leadership_divided(const struct leadership *l, struct bytes *seen);

/* An operation has been answered: perhaps FENCED, perhaps the last. */
void leadership_after(struct leadership *l, const struct op *op);

#endif
