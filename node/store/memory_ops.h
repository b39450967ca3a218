/* The operations on a memory_db, one function a verb: each the row of doc/store.md in C.
 *
 * To add one: a run_<verb> function in memory_ops.c and its line in `verbs`.
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

/* Fills in op->out, which borrows from the room. */
enum status memory_op_run(struct call *call);

#endif
