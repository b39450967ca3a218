/* All jobs counted, for metrics.
 *
 * A call begins a walk through the topics of all buckets; calls that come meanwhile, or within
 * FRESH_MS after, share it. The walk goes on when its callers have stopped waiting: the next
 * call can use it.
 *
 * The walk asks for one page at a time: what is due waits behind one page at most
 * (doc/decisions/0015-census-page-by-page.md). Each round asks each bucket that is not finished
 * for a page. So all buckets are looked into, also where there are too many topics: a walk
 * counts at most queue_options.census_topics, and towards the end each bucket gets an equal
 * share of what is left. Names without a job are not counted, but how many are looked at is
 * limited, too.
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

struct core;
struct tally;

struct census_bucket {
    struct list link; /* unfinished; not while its page is asked for */
    size_t after_len; /* the last name that was looked at; 0: not looked into yet */
    char after[NAME_MAX_BYTES];
};

struct censuses {
    struct core *core;
    bool is_store_up;
    bool is_closing;
    struct list waiting; /* for the walk */
    struct later over;   /* their status is decided */
    unsigned count;      /* calls, those on `over` included */

    /* The walk. */
    struct tally *tally; /* NULL: none is under way */
    struct op page;
    struct census_bucket *buckets;
    struct list unfinished; /* in the order of their turns */
    unsigned to_come;       /* turns that are left in this round */
    unsigned rows_left;     /* topics with a job */
    unsigned names_left;    /* topics with or without */
    bool is_partial;        /* a bucket is out of reach, or Redis refuses there */
    bool is_refused;        /* it does */
    bool has_page;          /* another bucket has answered */
    bool is_walk_outdated;  /* it began before a rollback: nobody is told of it */

    struct tally *last; /* the last one finished, or NULL */
    int64_t last_mono_ms;
    bool is_outdated; /* the last one, whatever its age */
};

void censuses_init(struct censuses *cs, struct core *core);
void censuses_fini(struct censuses *cs);

/* Operations reach the store from now on, or do not. */
void censuses_set_store(struct censuses *cs, bool is_up);

/* core_is_away() has changed. */
void censuses_set_bucket(struct censuses *cs, unsigned bucket);

/* The rest of queue_census(); queue_census_cancel() is here, too. */
void censuses_ask(struct censuses *cs, struct census_call *call);
void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status);

/* The engine stops: calls are cancelled, and the walk ends with the page under way. */
void censuses_close(struct censuses *cs);

/* After a rollback of the store: how many jobs there are now, and how many there were at the
 * last count. Logged once, when they are counted anew: after several rollbacks, only what the
 * last one left.
 */

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

#endif
