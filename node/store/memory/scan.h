/* What is due in a bucket moves. */
#ifndef DUEQ_NODE_STORE_MEMORY_SCAN_H
#define DUEQ_NODE_STORE_MEMORY_SCAN_H

#include "node/store/memory/ops.h"

#define MEMORY_SCAN_TOPICS_MAX 100

enum status memory_run_scan(struct call *c);

/* Orders pointers to topics by their events, and then by name. */
int memory_by_event(const void *left, const void *right);

#endif
