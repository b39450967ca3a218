/* The reconciler's operations on the store, a step at a time: one row of a table for each of
 * its states from NAMING to LIMITING.
 *
 * A step fills in the operation (ask), takes its answer and moves the walk on (take), or, after
 * a failure that does not pass by itself, leaves its subject to the next walk (leave).
 * reconciler.c decides which step comes when, and how long the rest after it is.
 *
 * To add a step: a state in reconciler.h, a row here, and where it is chosen in reconciler.c.
 */
#ifndef DUEQ_NODE_QUEUE_AUDIT_STEPS_H
#define DUEQ_NODE_QUEUE_AUDIT_STEPS_H

#include "node/queue/reconciler.h"

struct audit_step {
    void (*ask)(struct reconciler *r);
    unsigned (*take)(struct reconciler *r); /* returns its cost, in jobs looked at */
    void (*leave)(struct reconciler *r);
};

/* By state; those of OFF, RESTING and LEAVING are empty. */
extern const struct audit_step audit_steps[RECONCILER_STATE_COUNT];

#endif
