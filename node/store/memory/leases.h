/* What the holder of a lease may do, or may be said to have done. */
#ifndef DUEQ_NODE_STORE_MEMORY_LEASES_H
#define DUEQ_NODE_STORE_MEMORY_LEASES_H

#include "node/store/memory/ops.h"

enum status memory_run_delivered(struct call *c);
enum status memory_run_keep(struct call *c);
enum status memory_run_return(struct call *c);
enum status memory_run_ack(struct call *c);
enum status memory_run_release(struct call *c);
enum status memory_run_touch(struct call *c);
enum status memory_run_bury(struct call *c);

#endif
