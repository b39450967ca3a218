/* What a request must look like to be let in. Pure.
 *
 * A protocol may have looked already; what is asked here is what the store relies on. Whether
 * there is room, and whether the engine still takes work, is not asked here.
 */
#ifndef DUEQ_NODE_QUEUE_CHECKS_H
#define DUEQ_NODE_QUEUE_CHECKS_H

#include "node/queue/queue.h"

/* OK, or why it is refused. The verb must be one that protocols may submit. `buckets` are the
 * store's. */
enum status check_op(const struct op *op, const struct queue_options *options,
                     unsigned buckets) MUST_CHECK;
enum status check_pop(const struct pop *pop) MUST_CHECK;
enum status check_sweep(const struct sweep *sweep) MUST_CHECK;
enum status check_follow(const struct follow *follow) MUST_CHECK;
enum status check_trace(const struct trace *trace) MUST_CHECK;

/* Does it belong to a topic, whose bucket it goes to? Else it names the bucket itself. */
bool op_is_of_a_topic(const struct op *op);

#endif
