/* The operations on a memory_db, one function a verb: each the row of doc/store.md in C.
 *
 *   ops.c          their table, and the words they are written in
 *   push.c         push
 *   pop.c          pop
 *   leases.c       what the holder of a lease may do
 *   jobs.c         what anybody may do with a job
 *   chunks.c       kick and purge
 *   list.c         list
 *   counts.c       stats and topics
 *   settings.c     configure and settings
 *   scan.c         scan: the bucket; a topic of it in visit.c
 *   shared_scan.c  the same of many nodes, each its own topics, by locks.c
 *   trace.c        record and trace
 *   audit.c        places, audit, repair
 *   fence.c        fence, and the token of scan, audit and repair
 *
 * To add one: a memory_run_<verb> function, and its line in `verbs`.
 */
#ifndef DUEQ_NODE_STORE_MEMORY_OPS_H
#define DUEQ_NODE_STORE_MEMORY_OPS_H

#include "node/store/memory/room.h"
#include "node/store/memory/topic.h"
#include "node/store/op.h"

/* One operation on its way through. */
struct call {
    struct bucket *bucket;
    struct topic *topic; /* NULL for what has none */
    struct op *op;
    int64_t now_ms;
    int64_t start_ms; /* what lasts is counted from here: now, rounded up */
    struct room *room;
};

/* Fills in op->out, which borrows from the room. */
enum status memory_op_run(struct call *call);

/* ---- words that several of them use ---- */

/* When that is over; now, where it is 0. */
static inline int64_t memory_after(const struct call *c, int64_t ms)
{
    return ms > 0 ? c->start_ms + ms : c->now_ms;
}

#define MEMORY_DEATH_SCAN_MS 1000 /* after a death the scan looks at the dead */

int64_t or_zero(int64_t value); /* 0 where it is less */

/* As in out.row, without the body. */
struct job_row memory_row(struct call *c, const struct record *record);

/* The record, in no place now, goes to dead: the scan will look how many there are. */
void memory_die(struct call *c, struct record *record, enum death death);

/* The record, in no place now, is due then: ready, last of its priority, where that is over. */
void memory_put(struct call *c, struct record *record, int64_t due_ms);

/* Have as many deliveries ended as its rules allow? */
bool memory_is_used_up(const struct job *job);

/* A dead one begins anew, without a ttl. */
void memory_revive(struct record *record);

#endif
