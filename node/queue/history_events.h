/* What an operation that has ended well did to its job, as a line of the job's history. Pure.
 *
 * Event, times, tries and the like are filled in; topic, client and when it happened are the
 * caller's. To add an operation: a function, and its row in the table.
 */
#ifndef DUEQ_NODE_QUEUE_HISTORY_EVENTS_H
#define DUEQ_NODE_QUEUE_HISTORY_EVENTS_H

#include <stdbool.h>

#include "node/store/op.h"

/* False: nothing that is written down. */
bool history_event_of(const struct op *op, struct history_item *line);

/* The same for the job that was there before it, if there was one. */
bool history_event_of_replaced(const struct op *op, struct history_item *line);

#endif
