/* How many jobs are where, and which topics there are. */
#ifndef DUEQ_NODE_STORE_MEMORY_COUNTS_H
#define DUEQ_NODE_STORE_MEMORY_COUNTS_H

#include "node/store/memory/ops.h"

enum status memory_run_stats(struct call *c);
enum status memory_run_topics(struct call *c);

#endif
