/* Many jobs of one place at once. */
#ifndef DUEQ_NODE_STORE_MEMORY_CHUNKS_H
#define DUEQ_NODE_STORE_MEMORY_CHUNKS_H

#include "node/store/memory/ops.h"

enum status memory_run_kick(struct call *c);
enum status memory_run_purge(struct call *c);

#endif
