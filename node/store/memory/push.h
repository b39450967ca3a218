/* Putting a job into its first place. */
#ifndef DUEQ_NODE_STORE_MEMORY_PUSH_H
#define DUEQ_NODE_STORE_MEMORY_PUSH_H

#include "node/store/memory/ops.h"

enum status memory_run_push(struct call *c);

#endif
