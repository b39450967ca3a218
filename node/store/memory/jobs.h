/* What anybody may do with a job. */
#ifndef DUEQ_NODE_STORE_MEMORY_JOBS_H
#define DUEQ_NODE_STORE_MEMORY_JOBS_H

#include "node/store/memory/ops.h"

enum status memory_run_cancel(struct call *c);
enum status memory_run_move(struct call *c);
enum status memory_run_get(struct call *c);
enum status memory_run_owner(struct call *c);

#endif
