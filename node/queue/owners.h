/* Ids alone: which topic has the job, and for acknowledgements who holds it.
 *
 * Buckets index the ids of jobs whose push or pop wanted that (op.h, OWNER). The search asks
 * the bucket that has made the id, or all of them at once, because other ids do not tell
 * theirs.
 *
 * A consumer that acknowledges by bare id means the delivery it got itself, not the one
 * that somebody else got after its time was over. So the node remembers what it handed to
 * whom, newest last, and looks in this order: this holder's own; the newest on this node; the
 * job that the search finds, and its current lease (it was handed out by another node, or too
 * long ago for this memory).
 *
 * The memory is bounded: the oldest entry goes when there are too many.
 */
#ifndef DUEQ_NODE_QUEUE_OWNERS_H
#define DUEQ_NODE_QUEUE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/status.h"
#include "base/timer.h"

struct core;
struct owned_id;
struct id_ack;
struct id_find;
struct job;
struct pop;

struct owners {
    struct core *core;
    struct owned_id *by_id; /* hash; each with its ownings */
    struct list oldest;     /* all ownings, in the order of their coming */
    unsigned count;
    struct later told; /* searches that end without a question */
};

void owners_init(struct owners *o, struct core *core);
void owners_fini(struct owners *o);

/* Nothing to be called back? (What was sent counts as in flight with the core.) */
bool owners_are_idle(const struct owners *o);

/* Copies what it needs. */
void owners_add(struct owners *o, const struct pop *pop, struct bytes topic,
                const struct job *jobs, unsigned count);

/* The rest of queue_ack_by_id(). */
void owners_ack(struct owners *o, struct id_ack *ack);
void owners_refuse(struct owners *o, struct id_ack *ack, enum status status);

/* The rest of queue_find(). */
void owners_find(struct owners *o, struct id_find *find);
void owners_refuse_find(struct owners *o, struct id_find *find, enum status status);

#endif
