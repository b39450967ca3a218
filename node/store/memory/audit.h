/* Looking for damage, and mending it. */
#ifndef DUEQ_NODE_STORE_MEMORY_AUDIT_H
#define DUEQ_NODE_STORE_MEMORY_AUDIT_H

#include "node/store/memory/ops.h"

enum status memory_run_places(struct call *c);
enum status memory_run_audit(struct call *c);
enum status memory_run_repair(struct call *c);

#endif
