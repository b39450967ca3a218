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
#ifndef DUEQ_NODE_QUEUE_TRACES_H
#define DUEQ_NODE_QUEUE_TRACES_H

#include <stdbool.h>

#include "base/later.h"
#include "base/list.h"
#include "base/status.h"

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
