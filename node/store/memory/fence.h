/* The leader's token in memory: the highest that a bucket has seen. */
#ifndef DUEQ_NODE_STORE_MEMORY_FENCE_H
#define DUEQ_NODE_STORE_MEMORY_FENCE_H

#include "node/store/memory/ops.h"

/* FENCED where the operation's token is lower than that, or of another ensemble; out.fenced is
 * set then. Else OK: it is kept. */
enum status memory_fence(struct call *c);

enum status memory_run_fence(struct call *c);

#endif
