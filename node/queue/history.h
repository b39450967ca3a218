/* Writes down what jobs go through, for topics whose settings say so.
 *
 * It listens to operations that have ended well, and is told of deliveries when they happen.
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
#include "base/list.h"
#include "base/status.h"
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

/* A line, where its topic's history is on. `item` is copied; who does it (node) is put in here.
 */
void history_add(struct history *h, unsigned bucket, const struct history_item *item);

/* An operation has been answered, whoever sent it. */
void history_after(struct history *h, const struct op *op);
void history_flush(struct history *h);

/* What the history says of a job: page after page of its bucket's, from the newest line back.
 *
 *               +--- rested --- resting <--- more, and not enough yet ---+
 *               v                                                        |
 *   begin --> asking ----------------------------------------------------+--> on_done
 *                              the history's end, or enough
 *
 * Behind a page it rests for as long as that took, at most a tenth of a second, so that who
 * asks for jobs of a bucket with a long history waits for one page, and not for all.
 *
 * A history is told by the store newest first, and only roughly in order: lines of several
 * nodes meet in it, each some milliseconds late. So what was found is put in order of time at
 * the end. What this node has not sent yet is sent first: who has just pushed a job finds it
 * pushed.
 *
 * A cancelled one ends with the answer, or the rest, it waits for.
 */

#define TRACES_MAX 16 /* at once; one more is TOO_MANY_TRACES */

struct core;
struct history;
struct trace;

struct traces {
    struct core *core;
    struct history *history;
    struct list running;
    unsigned running_count;
    struct later refused;
};

void traces_init(struct traces *ts, struct core *core, struct history *history);
void traces_fini(struct traces *ts);

/* The rest of queue_trace() and queue_trace_cancel(); it has been checked. */
void traces_begin(struct traces *ts, struct trace *trace);
void traces_refuse(struct traces *ts, struct trace *trace, enum status status);
void traces_cancel(struct trace *trace);
void traces_cancel_all(struct traces *ts);
bool traces_are_idle(const struct traces *ts);

#endif
