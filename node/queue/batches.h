/* Leases of one topic travel in one operation, and are sent again until the store takes them.
 *
 * Without its confirmation a consumer that does have the job keeps it for a few seconds only,
 * and then it is doubled. So a batch that did not arrive is repeated for as long as that can
 * help: about the five seconds of the provisional reservation. What is given up is counted,
 * and said. One that did arrive may be repeated: the store takes a confirmation once.
 */
#ifndef DUEQ_NODE_QUEUE_BATCHES_H
#define DUEQ_NODE_QUEUE_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/queue/handed_job.h"
#include "node/store/op.h"

struct core;

struct batches {
    struct core *core;
    struct list waiting; /* to be sent again */
    struct timer timer;
    bool is_closing;
    int64_t said_mono_ms; /* when the last loss was logged */
};

void batches_init(struct batches *bs, struct core *core);
void batches_fini(struct batches *bs);

/* Takes all `jobs` (handed_job.link) over: those of a topic together, DELIVERED or RETURN. */
void batches_send(struct batches *bs, enum op_verb verb, struct list *jobs);

/* From now on nothing is sent a second time. */
void batches_close(struct batches *bs);

/* Nothing waits to be sent again? (What is under way counts as in flight with the core.) */
bool batches_are_idle(const struct batches *bs);

#endif
