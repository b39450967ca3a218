/* Topics that consumers wait for, and consumers with an entry at each of theirs: for whom a
 * topic pops, and who gets what comes back. waiters.c says who comes; nobody else includes
 * this. */
#ifndef DUEQ_NODE_QUEUE_WAITING_H
#define DUEQ_NODE_QUEUE_WAITING_H

#include "node/queue/hash.h"
#include "node/queue/waiters.h"
#include "node/store/op.h"

/* A topic that somebody waits for. It exists while it has an entry or a pop in flight. */
struct topic {
    UT_hash_handle hh;
    struct waiters *waiters;
    struct list free;      /* entries of consumers that no pop is for here */
    struct list claimed;   /* entries that the pop in flight is for, first come first */
    unsigned not_waiting;  /* entries of consumers that do not wait */
    struct list blocks;    /* entries here of consumers that it keeps from a lesser topic */
    unsigned reach;        /* consumers to claim at once: doubled while there is plenty */
    int64_t asked_mono_ms; /* when the last pop was made */
    unsigned pops;         /* that were made */
    bool is_dirty;
    bool has_failed; /* its last pop failed: it blocks nobody until the next try */
    bool is_popping;
    struct list of_bucket; /* in waiters.by_bucket */
    struct op op;          /* the pop in flight */
    unsigned bucket;
    struct bytes name;
    char text[];
};

/* One consumer at one topic. */
struct entry {
    struct list link;    /* in the topic's free or claimed */
    struct list blocked; /* in the topic's blocks, or in waiters.released */
    struct topic *topic;
    struct pop *pop;
    struct bytes name; /* the topic's, as the consumer gave it */
    bool was_tried;    /* a pop that was made for it brought it nothing */
    bool is_news;      /* the topic was thought to be empty before this one came */
    unsigned flight;   /* the pop that was in flight when it came, by topic.pops; 0: none was */
};

/* NULL: nobody waits for it. */
struct topic *topic_find(struct waiters *w, struct bytes name);
struct topic *topic_get(struct waiters *w, struct bytes name);

/* The rule at the top of waiters.h: pops if the topic is dirty and a consumer is free, and
 * releases the consumers that it blocked. Calls nobody back. */
void topic_serve(struct topic *t);

/* The pop that a scan is to bring, for `most` jobs; NULL: none. A dirty topic is asked by
 * itself, as soon as it can be. */
struct op *topic_carry(struct topic *t, unsigned most);

/* The topic's bucket is out of reach: the consumers it blocked are released, and a pop whose
 * consumers can all wait is abandoned, because the store would hold it until the bucket is
 * back. */
void topic_go_without(struct topic *t);

/* It has just become free: its topics are served. */
void consumer_serve(struct pop *pop);

/* It has no entries any more, no places and no time. */
void consumer_leave(struct pop *pop);

/* Calls it back with jobs that `op` has just brought: of that topic, named as the consumer did.
 */
void consumer_finish(struct pop *pop, struct bytes topic, const struct op *op,
                     const struct job *jobs, unsigned count);

/* Calls it back in a later turn, through waiters.over. */
void consumer_end_later(struct waiters *w, struct pop *pop, enum status status);

/* Callbacks: of a consumer's timer, and of waiters.over. */
void consumer_on_time_over(struct timer *timer);
void consumer_on_end(struct later *later, struct list *link);

#endif
