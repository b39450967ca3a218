/* What becomes of reserved jobs by those who hold their leases: the node that hands them out,
 * and the consumer that has them. One function a verb, for memory_ops.c. */
#ifndef DUEQ_NODE_STORE_MEMORY_LEASES_H
#define DUEQ_NODE_STORE_MEMORY_LEASES_H

#include "node/store/memory_ops.h"

/* The node, of several jobs. */
enum status memory_run_delivered(struct call *c);
enum status memory_run_keep(struct call *c);
enum status memory_run_return(struct call *c);

/* The consumer. */
enum status memory_run_ack(struct call *c);
enum status memory_run_release(struct call *c);
enum status memory_run_touch(struct call *c);

#endif
