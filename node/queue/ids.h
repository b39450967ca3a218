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
#ifndef DUEQ_NODE_QUEUE_IDS_H
#define DUEQ_NODE_QUEUE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/status.h"
#include "base/timer.h"

struct core;
struct known_id;
struct id_ack;
struct id_find;
struct job;
struct pop;

struct ids {
    struct core *core;
    struct known_id *by_id; /* hash; each with its holdings */
    struct list oldest;     /* all holdings, in the order of their coming */
    unsigned count;
    struct later told; /* searches that end without a question */
};

void ids_init(struct ids *ids, struct core *core);
void ids_fini(struct ids *ids);

/* Nothing to be called back? (What was sent counts as in flight with the core.) */
bool ids_are_idle(const struct ids *ids);

/* Copies what it needs. */
void ids_add(struct ids *ids, const struct pop *pop, struct bytes topic, const struct job *jobs,
             unsigned count);

/* The rest of queue_ack_by_id(). */
void ids_ack(struct ids *ids, struct id_ack *ack);
void ids_refuse(struct ids *ids, struct id_ack *ack, enum status status);

/* The rest of queue_find(). */
void ids_find(struct ids *ids, struct id_find *find);
void ids_refuse_find(struct ids *ids, struct id_find *find, enum status status);

#endif
