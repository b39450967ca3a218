/* A walk through the topics of all buckets, which counts their jobs.
 *
 * A few lanes walk, each through one bucket at a time, page by page: one would take too long
 * where each answer waits for a slow disk, and many would keep Redis from what is due. A walk
 * counts so many topics at most (queue_options.census_topics), each bucket an equal share of
 * them; what some leave, those that were cut off get in a further round. Names without a job
 * are not counted, but they are not looked at without end either. A round is over when all
 * lanes are home.
 */
#ifndef DUEQ_NODE_QUEUE_CENSUS_WALK_H
#define DUEQ_NODE_QUEUE_CENSUS_WALK_H

#include <stdbool.h>

#include "base/list.h"
#include "base/status.h"
#include "node/queue/names.h"
#include "node/store/op.h"

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
    enum status failure;       /* the first one: nobody asks for a further page */

    /* Takes the tally, which is finished; NULL unless `status` is OK. */
    void (*on_end)(struct census_walk *w, enum status status, struct tally *tally);
};

void census_walk_init(struct census_walk *w, struct core *core,
                      void (*on_end)(struct census_walk *w, enum status status,
                                     struct tally *tally));
void census_walk_fini(struct census_walk *w);

/* While nobody walks, and a bucket is within reach. on_end comes later, once. */
void census_walk_begin(struct census_walk *w);
bool census_walk_is_under_way(const struct census_walk *w);

/* core_is_away() has changed: what the store would hold until the bucket is back ends. */
void census_walk_set_bucket(struct census_walk *w, unsigned bucket);

/* It ends with the pages under way, CANCELLED. */
void census_walk_close(struct census_walk *w);

#endif
