/* The jobs of one state, page after page. */
#ifndef DUEQ_NODE_STORE_MEMORY_LIST_H
#define DUEQ_NODE_STORE_MEMORY_LIST_H

#include "node/store/memory/ops.h"

enum status memory_run_list(struct call *c);

#endif
