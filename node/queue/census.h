/* All jobs counted, for metrics: who asks, and what they are told.
 *
 * The topics are walked through (census_walk.h) when somebody asks; whoever asks meanwhile, or
 * within FRESH_MS after, shares it. The walk goes on when those who asked have lost patience:
 * the next one will be glad of it.
 *
 * None begins while the store is down: that would wait for it, and everybody with it.
 */
#ifndef DUEQ_NODE_QUEUE_CENSUS_H
#define DUEQ_NODE_QUEUE_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/later.h"
#include "base/list.h"
#include "base/status.h"
#include "node/queue/census_walk.h"

struct census_call;

struct censuses {
    struct core *core;
    bool is_store_up;
    struct list waiting; /* for the walk */
    struct later over;   /* their status is decided */
    unsigned count;      /* calls, those on `over` included */

    struct census_walk walk;
    struct tally *last; /* the last one finished, or NULL */
    int64_t last_mono_ms;
    bool is_outdated;      /* the last one, whatever its age */
    bool is_walk_outdated; /* the one under way: another follows, and nobody is told of this one
                            */
};

void censuses_init(struct censuses *cs, struct core *core);
void censuses_fini(struct censuses *cs);

/* Operations reach the store from now on, or do not. */
void censuses_set_store(struct censuses *cs, bool is_up);
void censuses_set_bucket(struct censuses *cs, unsigned bucket);

/* The last one that was finished; NULL: none yet. */
const struct census *censuses_last(struct censuses *cs);

/* The last one is not fresh any more, however young, and what is being counted is not either.
 */
void censuses_outdate(struct censuses *cs);

/* The rest of queue_census() and queue_census_cancel(). */
void censuses_ask(struct censuses *cs, struct census_call *call);
void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status);
void censuses_cancel(struct censuses *cs, struct census_call *call);

/* The engine stops: calls are cancelled, and the walk ends with the pages under way. */
void censuses_close(struct censuses *cs);

#endif
