/* The operations on a memory_db, one function a verb: each the row of doc/store.md in C.
 *
 *   memory_ops.c      their table, and those that need no lease: push, pop, cancel, get, scan
 *   memory_leases.c   what the holder of a lease may do
 *   memory_counts.c   stats and topics
 *
 * To add one: a run_<verb> function, and its line in `verbs`.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_OPS_H
#define DUEQ_NODE_STORE_MEMORY_OPS_H

#include "node/store/memory_places.h"
#include "node/store/memory_room.h"
#include "node/store/op.h"

/* One operation on its way through. */
struct call {
    struct bucket *bucket;
    struct topic *topic; /* NULL for TOPICS, OWNER and SCAN */
    struct op *op;
    int64_t now_ms;
    struct room *room;
};

/* For times to come: what has passed is now. */
static inline int64_t or_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

/* Fills in op->out, which borrows from the room. */
enum status memory_op_run(struct call *call);

#endif
