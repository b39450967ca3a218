/* Topics that somebody waits for, and the pop in flight for each: the rule of waiters.h.
 *
 * topic.c decides which consumers to pop for and hands out the jobs; waiters.c keeps the
 * consumers, their time and their callbacks. Both are one module: no other file includes this.
 */
#ifndef DUEQ_NODE_QUEUE_TOPIC_H
#define DUEQ_NODE_QUEUE_TOPIC_H

#include "node/queue/core.h"
#include "node/queue/hash.h"
#include "node/queue/waiters.h"

struct topic {
    UT_hash_handle hh;
    struct waiters *waiters;
    struct list free;      /* entries of consumers that no pop is for here */
    struct list claimed;   /* entries that the pop in flight is for, first come first */
    unsigned not_waiting;  /* entries of consumers that do not wait */
    struct list blocks;    /* entries here of consumers that it keeps from a lesser topic */
    unsigned reach;        /* consumers to claim at once: 1, doubled while there is plenty */
    int64_t asked_mono_ms; /* when the last pop was made */
    bool is_dirty;
    bool has_failed; /* its last pop failed: it blocks nobody until the next try */
    bool is_popping;
    struct op op; /* the pop in flight */
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
};

/* A topic exists while it has an entry or a pop in flight. */
struct topic *topic_find(struct waiters *w, struct bytes name);
struct topic *topic_get(struct waiters *w, struct bytes name);
void topic_free_if_unused(struct topic *t);

/* Pops if the topic is dirty and a consumer is free, and releases the consumers that it
 * blocked. Calls nobody back. */
void topic_serve(struct topic *t);

/* The same for a consumer that has just become free, at a topic whose other consumers have
 * been looked at since it turned dirty: looking at all of them for each of them would take
 * the square of their number. False: a topic that the consumer prefers blocks it. */
bool topic_serve_entry(struct entry *entry);

/* The topic's bucket is out of reach: the consumers it blocked are released, and a pop whose
 * consumers can all wait is abandoned, because the store would hold it until the bucket is
 * back. */
void topic_go_without(struct topic *t);

/* ---- what waiters.c does for topic.c ---- */

/* May the pop end without a job? Not while it has time, or a topic it has not tried. */
bool waiter_is_finished(const struct pop *pop);
void waiter_finish_empty(struct pop *pop); /* called back in a later turn */

/* The answer had no room for this consumer's job: a consumer whose time is over waits a moment
 * more. */
void waiter_give_grace(struct pop *pop);

/* The jobs of the pop that has just been answered; calls back. */
void waiter_finish_with(struct pop *pop, struct bytes topic, const struct op *op,
                        const struct job *jobs, unsigned count);

/* Serves the consumer's other topics. */
void waiter_serve(struct pop *pop);

#endif
