/* A scan in memory, in its parts: whose topics move (locks.c), what happens in each (visit.c),
 * and which, in which order (scan.c). */
#ifndef DUEQ_NODE_STORE_MEMORY_SCAN_H
#define DUEQ_NODE_STORE_MEMORY_SCAN_H

#include "node/store/memory/ops.h"

struct scan {
    int64_t *lateness_ms;
    struct topic *to_pop[OP_SCAN_POPS_MAX]; /* got ready jobs, and the scan brings their pops */
    unsigned to_pop_count;
};

/* What the scan's share says of a topic that is due. From HELD on: it moves. */
enum claim {
    CLAIM_NONE,
    CLAIM_CONFLICT, /* its own, but another node has the lock */
    CLAIM_HELD,     /* as the lock is */
    CLAIM_RENEW,
    CLAIM_TAKE, /* nobody has it */
    CLAIM_TAKE_OVER,
    CLAIM_STEAL,
};

/* Of a topic that is due. */
enum claim memory_lock_claim(const struct call *c, const struct topic *topic);

/* After the scan of all topics: takes or renews the lock, and counts it. A topic that has come
 * to its end gets none. */
void memory_lock_settle(struct call *c, struct topic *topic, enum claim claim);

/* Is the node to wait for the topic's events? */
bool memory_lock_expects(const struct call *c, const struct topic *topic);

/* Moves what is due, and sets the next event. A job that the limit leaves out keeps its time.
 */
void memory_visit_topic(struct call *c, struct topic *topic, struct scan *scan);

/* After all visits: the pops of topics that got ready jobs, and the wake-ups for what they
 * leave. */
void memory_run_scan_pops(struct call *c, struct scan *scan);

#endif
