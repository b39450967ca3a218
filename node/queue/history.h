/* Writes down what jobs go through, for topics whose settings say so.
 *
 * The history listens to operations that have ended well, and is told of deliveries. Lines wait
 * a few milliseconds and travel together, a RECORD for the lines of one bucket:
 *
 *   history_add --> open (one a bucket) --time, or full--> on its way --> freed
 *
 * Nothing else suffers for the history: its memory is bounded, nothing is sent a second time,
 * and lost lines are counted (stats.history_lost). Where no topic has it on, an operation costs
 * a look at one number.
 *
 * The scan's script writes down what the scan moves. Not written: jobs kicked or purged in
 * bulk, because the store tells only how many there were, and jobs that expired while somebody
 * popped.
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

/* Adds a line, where its topic's history is on. `item` is copied, and gets this node's name.
 */
void history_add(struct history *h, unsigned bucket, const struct history_item *item);

/* An operation has been answered, whoever sent it. */
void history_after(struct history *h, const struct op *op);
void history_flush(struct history *h);

/* Traces: the history of one job, read page after page from its bucket's, from the newest line
 * back.
 *
 *               +--- rested --- resting <--- more, and not enough yet ---+
 *               v                                                        |
 *   begin --> asking ----------------------------------------------------+--> on_done
 *                              the history's end, or enough
 *
 * After a page the trace rests for as long as the page took, at most a tenth of a second: an
 * operation on a bucket with a long history waits for one page, and not for all.
 *
 * The store tells a history newest first, but only roughly in order: lines of several nodes
 * meet in it, each some milliseconds late. So the lines found are sorted by time at the end.
 * Lines that this node has not sent yet are sent first: a client that has just pushed a job
 * finds the push.
 *
 * A cancelled trace ends with the answer, or the rest, that it waits for.
 */

#define TRACES_MAX 16 /* at once; one more is TOO_MANY_TRACES */

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

/* The rest of queue_trace(), whose `trace` has been checked; queue_trace_cancel() is here, too.
 */
void traces_begin(struct traces *ts, struct trace *trace);
void traces_refuse(struct traces *ts, struct trace *trace, enum status status);
void traces_cancel_all(struct traces *ts);
bool traces_are_idle(const struct traces *ts);

#endif
