/* A store that has come back older than it was: how many jobs there are now, and how many there
 * were when they were last counted (census.h). Said once, in the log, when they are counted
 * anew; of several falls until then, what is left after the last one.
 */
#ifndef DUEQ_NODE_QUEUE_LOSSES_H
#define DUEQ_NODE_QUEUE_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "node/queue/queue.h"

#define LOSSES_PATIENCE_MS 60000 /* so long it counts */

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

/* The store is up, and has fallen back. */
void losses_count(struct losses *l);

#endif
