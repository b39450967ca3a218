/* What the reconciler asks of the store, a step at a time: one row of a table for each of its
 * states from NAMING to LIMITING.
 *
 * A step fills in the operation; takes from its answer what it says, and where the walk goes
 * on; or, where it failed and this does not pass by itself, leaves to the next walk what it was
 * about. When which step is made, and how long it rests behind it, is reconciler.c's.
 *
 * To add one: a state in reconciler.h, a row here, and where it is chosen in reconciler.c.
 */
#ifndef DUEQ_NODE_QUEUE_AUDIT_STEPS_H
#define DUEQ_NODE_QUEUE_AUDIT_STEPS_H

#include "node/queue/reconciler.h"

struct audit_step {
    void (*ask)(struct reconciler *r);
    unsigned (*take)(struct reconciler *r); /* returns how many jobs' worth of looking it was */
    void (*leave)(struct reconciler *r);
};

/* By state; those of OFF, RESTING and LEAVING are empty. */
extern const struct audit_step audit_steps[RECONCILER_STATE_COUNT];

#endif
