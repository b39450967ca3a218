/* Taking what is ready. */
#ifndef DUEQ_NODE_STORE_MEMORY_POP_H
#define DUEQ_NODE_STORE_MEMORY_POP_H

#include "node/store/memory/ops.h"

enum status memory_run_pop(struct call *c);

#endif
