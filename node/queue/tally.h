/* The sum of many topics, and the largest of them. Pure, but for its memory. */
#ifndef DUEQ_NODE_QUEUE_TALLY_H
#define DUEQ_NODE_QUEUE_TALLY_H

#include "node/queue/queue.h"

/* Twice as many rows as are wanted in the end: when they are full the lesser half goes, so
 * that a row costs little on the average and the loop never stands still for long. */
#define TALLY_ROWS_MAX (2 * QUEUE_CENSUS_TOP_MAX)

struct tally {
    struct census sum; /* `top` is set by tally_finish */
    unsigned count;
    struct topic_count rows[TALLY_ROWS_MAX]; /* with names of their own */
};

struct tally *tally_new(void);
void tally_free(struct tally *t); /* NULL is fine */

/* Copies the name. */
void tally_add(struct tally *t, const struct topic_count *row);

/* Puts the largest into order. Nothing is added after that. */
void tally_finish(struct tally *t);

#endif
