/* All jobs counted: a walk through the topics of all buckets, for metrics.
 *
 * Taken when somebody asks; whoever asks meanwhile, or within FRESH_MS after, shares it. A few
 * lanes walk, each through one bucket at a time, page by page: one would take too long where
 * each answer waits for a slow disk, and many would keep Redis from what is due. A walk counts
 * so many topics at most (queue_options.census_topics), each bucket an equal share of them;
 * what some leave, those that were cut off get in a further round. Names without a job are not
 * counted, but they are not looked at without end either. A round is over when all lanes are
 * home. The walk goes on when those who asked have lost patience: the next one will be glad of
 * it.
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
#include "node/queue/names.h"
#include "node/store/op.h"

#define CENSUS_LANES 8

struct census_call;
struct core;
struct tally;

struct census_budget {
    unsigned rows;  /* topics with a job */
    unsigned names; /* topics with or without */
};

struct census_bucket {
    struct list link; /* unfinished, while no lane is in it */
    unsigned number;
    size_t after_len; /* 0: not looked into yet, or looked at to the end */
    char after[NAME_MAX_BYTES];
};

/* One operation in flight. */
struct census_lane {
    struct censuses *censuses;
    struct op op;
    struct census_bucket *bucket;
    struct census_budget left; /* of its share */
};

struct censuses {
    struct core *core;
    bool is_store_up;
    bool is_closing;
    struct list waiting; /* for the walk */
    struct later over;   /* their status is decided */
    unsigned count;      /* calls, those on `over` included */

    struct tally *last; /* the last one finished, or NULL */
    int64_t last_mono_ms;

    /* While it walks. */
    struct tally *tally; /* NULL: it does not */
    struct census_lane lanes[CENSUS_LANES];
    unsigned walking; /* lanes */
    struct census_bucket *buckets;
    struct list unfinished;
    unsigned to_begin;         /* the first so many of them, in this round */
    struct census_budget left; /* without what the lanes have as their shares */
    enum status failure;       /* the first one: nobody asks for a further page */
};

void censuses_init(struct censuses *cs, struct core *core);
void censuses_fini(struct censuses *cs);

/* Operations reach the store from now on, or do not. */
void censuses_set_store(struct censuses *cs, bool is_up);

/* The rest of queue_census() and queue_census_cancel(). */
void censuses_ask(struct censuses *cs, struct census_call *call);
void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status);
void censuses_cancel(struct censuses *cs, struct census_call *call);

/* The engine stops: calls are cancelled, and the walk ends with the pages under way. */
void censuses_close(struct censuses *cs);

#endif
