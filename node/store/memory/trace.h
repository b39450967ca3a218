/* What the history is told, and tells. */
#ifndef DUEQ_NODE_STORE_MEMORY_TRACE_H
#define DUEQ_NODE_STORE_MEMORY_TRACE_H

#include "node/store/memory/ops.h"

enum status memory_run_record(struct call *c);
enum status memory_run_trace(struct call *c);

#endif
