/* What is due in a bucket moves. */
#ifndef DUEQ_NODE_STORE_MEMORY_SCAN_H
#define DUEQ_NODE_STORE_MEMORY_SCAN_H

#include "node/store/memory/ops.h"

enum status memory_run_scan(struct call *c);

#endif
