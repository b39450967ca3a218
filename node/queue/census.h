/* All jobs counted, for metrics.
 *
 * A call begins a walk through the topics (struct census_walk); calls that come meanwhile, or
 * within FRESH_MS after, share it. The walk goes on when its callers have stopped waiting: the
 * next call can use it.
 *
 * No walk begins while the store is down: the walk, and all calls with it, would wait for the
 * store.
 */
#ifndef DUEQ_NODE_QUEUE_CENSUS_H
#define DUEQ_NODE_QUEUE_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "base/list.h"
#include "base/status.h"
#include "node/queue/queue.h"
#include "node/store/op.h"

/* The sum of many topics, and the largest of them. Pure, but for its memory. */

/* Twice as many rows as are wanted in the end: when they are full the lesser half goes, so
 * that a row costs little on the average and the loop never stands still for long. */
#define TALLY_ROWS_MAX (2 * QUEUE_CENSUS_TOP_MAX)

struct tally {
    struct census sum; /* `top` is set by tally_finish */
    unsigned count;
    struct topic_count rows[TALLY_ROWS_MAX]; /* with names of their own */
};

/* After a rollback of the store: how many jobs there are now, and how many there were at the
 * last count. Logged once, when they are counted anew: after several rollbacks, only what the
 * last one left.
 */

struct censuses;

struct losses {
    struct censuses *censuses;
    struct census_call call;
    bool is_counting;
    bool has_fallen_again; /* since it began to count */
    uint64_t before;       /* jobs */
    int64_t before_age_ms; /* counted so long ago; -1: never */
};

/* The censuses are borrowed. */
void losses_init(struct losses *l, struct censuses *censuses);

/* The store is up, after a rollback. */
void losses_count(struct losses *l);

/* A walk through the topics of all buckets, which counts their jobs.
 *
 * A few lanes walk, each through one bucket at a time, page by page: one lane would take too
 * long where each answer waits for a slow disk, and many lanes would keep Redis from what is
 * due. A walk counts at most queue_options.census_topics topics, an equal share in each bucket;
 * what some buckets leave, those that were cut off get in a further round. Names without a job
 * are not counted, but how many are looked at is limited, too. A round is over when all lanes
 * are home.
 */

#define CENSUS_LANES 8

struct census_walk;
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
    struct census_walk *walk;
    struct op op;
    bool is_asking;
    struct census_bucket *bucket;
    struct census_budget left; /* of its share */
};

struct census_walk {
    struct core *core;
    bool is_closing;
    bool is_partial; /* some buckets are out of reach */

    struct tally *tally; /* NULL: nobody walks */
    struct census_lane lanes[CENSUS_LANES];
    unsigned walking; /* lanes */
    struct census_bucket *buckets;
    struct list unfinished;
    unsigned to_begin;         /* the first so many of them, in this round */
    struct census_budget left; /* without what the lanes have as their shares */
    enum status failure;       /* the first one: no further page is asked for */

    /* Takes the tally, which is finished; NULL unless `status` is OK. */
    void (*on_end)(struct census_walk *w, enum status status, struct tally *tally);
};

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

/* The rest of queue_census() and queue_census_cancel(). */
void censuses_ask(struct censuses *cs, struct census_call *call);
void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status);
void censuses_cancel(struct censuses *cs, struct census_call *call);

/* The engine stops: calls are cancelled, and the walk ends with the pages under way. */
void censuses_close(struct censuses *cs);

#endif
