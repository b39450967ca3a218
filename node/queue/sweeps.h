/* All jobs of a state kicked or purged: chunk after chunk, and others in between.
 *
 * A chunk is a hundred jobs, and one is on its way at a time. After it the sweep rests for as
 * long as the chunk took, so that others have the store for themselves half of the time.
 * (Measured with one other client and 100,000 jobs: its median request takes 0.9 ms instead of
 * 0.5. With chunks of 250 and no rests it takes 3 to 4, and the sweep is hardly done sooner.)
 * The states of a purge come one after the other, in the order of a job's life: a job that
 * moves on meanwhile is met again.
 *
 * Without a limit the jobs of a state are counted first, and so many are swept: a client that
 * pushes as fast as the sweep works does not keep it busy for ever.
 *
 *            +---- no limit ----> COUNTING ---+
 *   begin -->|                                v   the state is empty, or enough
 *      ^     +---- a limit ----------------> SWEEPING -----------------> next state, or on_done
 *      |                                      |  |  ^
 *      +--------------------------------------+  |  | as long as the chunk took
 *                                           more +-- RESTING
 *
 * At its limit the sweep counts the states not reached yet: `has_more` needs a job in one of
 * them.
 *
 * A cancelled sweep ends with the answer, or the rest, that it waits for.
 */
#ifndef DUEQ_NODE_QUEUE_SWEEPS_H
#define DUEQ_NODE_QUEUE_SWEEPS_H

#include <stdbool.h>

#include "base/timer.h"
#include "base/list.h"
#include "base/status.h"

#define SWEEPS_MAX 16 /* at once; one more is TOO_MANY_SWEEPS */

struct core;
struct sweep;

struct sweeps {
    struct core *core;
    struct list running;
    unsigned running_count;
    struct later refused;
};

void sweeps_init(struct sweeps *ss, struct core *core);
void sweeps_fini(struct sweeps *ss);

/* The rest of queue_sweep(), whose `sweep` has been checked; queue_sweep_cancel() is here, too.
 */
void sweeps_begin(struct sweeps *ss, struct sweep *sweep);
void sweeps_refuse(struct sweeps *ss, struct sweep *sweep, enum status status);
void sweeps_cancel_all(struct sweeps *ss);

bool sweeps_are_idle(const struct sweeps *ss);

#endif
