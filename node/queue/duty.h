/* What one node at a time is to do, the scans and the repairs: from when on it may begin, and
 * when it has ended.
 *
 *           begin                    all buckets have answered
 *   OFF ------------> ASSERTING ---------------------------------> ON
 *    ^   with token       ^                                        |
 *    |                    +---------- the store was away ----------+
 *    |
 *    +---- end, or FENCED: from anywhere.     begin without token: ON at once
 *
 * ASSERTING: the leader's token is being made known to all buckets (FENCE, all at once), so
 * that a deposed leader's scripts have no effect in any of them. A bucket that did not answer
 * well is asked again; nothing is sent while the store is away, or while this node may not act.
 * ON: the scanner and the reconciler work.
 *
 * What was sent before the end may still be answered after it; when nothing of that is left the
 * duty is drained.
 */
#ifndef DUEQ_NODE_QUEUE_DUTY_H
#define DUEQ_NODE_QUEUE_DUTY_H

#include <stdbool.h>

#include "base/timer.h"
#include "node/queue/queue.h"

#define DUTY_AGAIN_MS 100 /* after an assertion that went wrong */

struct core;
struct duty_bucket;

enum duty_state { DUTY_OFF, DUTY_ASSERTING, DUTY_ON };

struct duty {
    struct core *core;
    enum duty_state state;
    struct queue_leader leader; /* of the last begin */
    char token[OP_TOKEN_MAX];
    bool is_store_up;

    struct duty_bucket *buckets;
    unsigned left;  /* ASSERTING: buckets that have not taken the token */
    unsigned round; /* of assertions: answers of older ones do not count */
    struct timer again;

    struct timer news; /* tells the leader, in a turn of its own */
    bool is_draining;  /* it has ended, and that is not told yet */
    bool is_fenced;    /* since the last begin */
    bool is_fenced_told;
    char seen[OP_TOKEN_MAX]; /* what fenced it last, until all buckets take its token */
    size_t seen_len;

    /* For engine.c: the scanner and the reconciler are to begin (also where they have), to end;
     * it has ended by itself. */
    void (*on_begin)(struct duty *d);
    void (*on_end)(struct duty *d);
    void (*on_fenced)(struct duty *d);
};

void duty_init(struct duty *d, struct core *core);
void duty_fini(struct duty *d);

void duty_begin(struct duty *d, const struct queue_leader *leader);
void duty_end(struct duty *d);
void duty_close(struct duty *d); /* for good; nobody is told */

void duty_set_store(struct duty *d, bool is_up);

/* An operation has been answered: perhaps FENCED, perhaps the last. */
void duty_after(struct duty *d, const struct op *op);

#endif
