/* All buckets told that a token is right, one after the other: an operator has decided between
 * two ensembles of which neither knows the other.
 */
#ifndef DUEQ_NODE_QUEUE_ADOPTION_H
#define DUEQ_NODE_QUEUE_ADOPTION_H

#include "node/queue/queue.h"

struct core;

/* The rest of queue_adopt(). */
void adoption_begin(struct adoption *a, struct core *core);
void adoption_refuse(struct adoption *a, struct core *core, enum status status);

#endif
