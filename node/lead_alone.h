/* A standalone node leads all the time, without a token. Where a cluster's leader has been at
 * its store it moves nothing: it says what to do, and looks again every few seconds, until an
 * operator has decided.
 */
#ifndef DUEQ_NODE_LEAD_ALONE_H
#define DUEQ_NODE_LEAD_ALONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"

struct queue;

struct lead_alone {
    struct queue *queue;
    struct timers *timers;
    struct timer again;     /* while it is fenced */
    bool is_fenced;         /* as far as is known */
    uint64_t fenced_count;  /* answers that say so, since start */
    bool is_fenced_again;   /* since it looked last */
    int64_t say_at_mono_ms; /* when the log hears it again */
};

/* Both are borrowed. */
void lead_alone_init(struct lead_alone *l, struct queue *queue, struct timers *timers);

void lead_alone_start(struct lead_alone *l);
void lead_alone_stop(struct lead_alone *l); /* looks no more; harmless when it never began */

#endif
