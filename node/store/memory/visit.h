/* What a SCAN does in one topic that is due: its jobs in the order of the contract (what has
 * expired, what is due, what nobody acknowledged, dead ones beyond the limits), and the end of
 * its pause. */
#ifndef DUEQ_NODE_STORE_MEMORY_VISIT_H
#define DUEQ_NODE_STORE_MEMORY_VISIT_H

#include "node/store/memory/ops.h"

/* The topic is out of the bucket's index, and comes back into it if it has a next event. Adds
 * to op->out.scan, and to `lateness_ms`, which has room for as many as the limit. */
void memory_visit_topic(struct call *c, struct topic *topic, int64_t *lateness_ms);

#endif
