/* Writes down what jobs go through, for topics whose settings say so.
 *
 * It listens to operations that have ended well, and is told of hand-overs when they happen.
 * Lines wait a few milliseconds and travel together, a RECORD for the lines of one bucket:
 *
 *   history_add --> open (one a bucket) --time, or full--> on its way --> freed
 *
 * The history is worth having, and worth nothing else: memory for it is bounded, nothing is
 * sent a second time, and what is lost is counted (stats.history_lost). Where no topic has it
 * on, an operation costs a look at one number.
 *
 * What the scanner moves is written down by its script. Not written: who was kicked or purged
 * with many others, because the store tells only how many there were, and what expired while
 * somebody popped.
 */
#ifndef DUEQ_NODE_QUEUE_HISTORY_H
#define DUEQ_NODE_QUEUE_HISTORY_H

#include <stdbool.h>

#include "base/timer.h"
#include "node/store/op.h"

#define HISTORY_BATCHES_MAX \
    256 /* open or on their way; each holds up to OP_RECORDS_MAX lines */

struct core;
struct history_batch;
struct settings_cache;

struct history {
    struct core *core;
    const struct settings_cache *settings;
    struct history_batch **open; /* by bucket; NULL: none */
    unsigned open_count;
    unsigned batch_count;   /* with those on their way */
    struct timer timer;     /* sends the open ones */
    int64_t store_ahead_ms; /* the store's clock - ours, as the answers tell it */
    int64_t ahead_since_mono_ms;
};

void history_init(struct history *h, struct core *core, const struct settings_cache *settings);
void history_fini(struct history *h);

bool history_is_on(const struct history *h, struct bytes topic);

/* A line, where its topic's history is on. `item` is copied; who does it (node) is put in here.
 */
void history_add(struct history *h, unsigned bucket, const struct history_item *item);

/* An operation has been answered, whoever sent it. */
void history_after(struct history *h, const struct op *op);

/* What is open goes to the store now: before somebody reads, or the engine stops. */
void history_flush_bucket(struct history *h, unsigned bucket);
void history_flush(struct history *h);

#endif
