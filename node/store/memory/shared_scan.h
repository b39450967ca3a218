/* The scan of one node of many: its own topics move, by their locks. */
#ifndef DUEQ_NODE_STORE_MEMORY_SHARED_SCAN_H
#define DUEQ_NODE_STORE_MEMORY_SHARED_SCAN_H

#include "node/store/memory/ops.h"

void memory_shared_scan(struct call *c, int64_t *lateness_ms);

#endif
