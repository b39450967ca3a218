/* What one node at a time is to do, the scans and the repairs: from when on it may begin, and
 * when it has ended.
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
 * asked again; nothing is sent while this node may not act.
 * OPEN: it is scanned. With the first one the reconciler begins: what it sends brings the
 * token.
 *
 * So a bucket that is away holds up no other, and has taken the token again when it is back: a
 * replica that was promoted meanwhile may not know it.
 *
 * Without a token a bucket is OPEN while the store does not say that it is away, up or down.
 *
 * What was sent before the end may still be answered after it; when nothing is left of what
 * only a leader may do, the duty is drained.
 */
#ifndef DUEQ_NODE_QUEUE_DUTY_H
#define DUEQ_NODE_QUEUE_DUTY_H

#include <stdbool.h>

#include "base/timer.h"
#include "node/queue/queue.h"

#define DUTY_AGAIN_MS 100 /* after an assertion that went wrong */

struct core;
struct duty_bucket;

enum duty_state { DUTY_SHUT, DUTY_ASSERTING, DUTY_OPEN };

struct duty {
    struct core *core;
    bool is_on;
    struct queue_leader leader; /* of the last begin */
    char token[OP_TOKEN_MAX];
    bool is_store_up;

    struct duty_bucket *buckets;
    unsigned asserting; /* how many of them are */
    struct timer again;

    struct timer news; /* tells the leader, in a turn of its own */
    bool is_draining;  /* it has ended, and that is not told yet */
    bool is_fenced;    /* since the last begin */
    bool is_fenced_told;
    char seen[OP_TOKEN_MAX]; /* what fenced it last, until all reached buckets take its token */
    size_t seen_len;

    /* For engine.c: a bucket is to be scanned (also where it is), not to be; all has ended, by
     * itself too. */
    void (*on_open)(struct duty *d, unsigned bucket);
    void (*on_shut)(struct duty *d, unsigned bucket);
    void (*on_end)(struct duty *d);
    void (*on_fenced)(struct duty *d);
};

void duty_init(struct duty *d, struct core *core);
void duty_fini(struct duty *d);

void duty_begin(struct duty *d, const struct queue_leader *leader);
void duty_end(struct duty *d);
void duty_close(struct duty *d); /* for good; nobody is told */

void duty_set_store(struct duty *d, bool is_up);
void duty_set_bucket(struct duty *d, unsigned bucket); /* core_is_away() has changed */

/* An operation has been answered: perhaps FENCED, perhaps the last. */
void duty_after(struct duty *d, const struct op *op);

#endif
