/* The latest deliveries, for clients that follow them.
 *
 * Every delivery gets the next number, whether anybody watches or not; so a gap in the numbers
 * shows missed deliveries. The numbers start from the wall clock, because a restarted node must
 * not use its old ones again.
 *
 * The last FEED_MAX are remembered, in a ring, from the first follow until KEEP_MS after
 * the last one: a node that nobody watches spends an addition on each.
 *
 *   queue_follow --> waiting --news, or its time is over--> on_done
 *         \             `------cancelled, stop-----> over --next turn--> on_done
 *          `-- refused -------------------------------^
 */
#ifndef DUEQ_NODE_QUEUE_FEED_H
#define DUEQ_NODE_QUEUE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "base/list.h"
#include "base/status.h"

#define FEED_MAX 4096

struct core;
struct follow;
struct feed_item;
struct feed_ring;

struct feed {
    struct core *core;
    int64_t born_seq;       /* the first number of this process */
    int64_t last_seq;       /* the newest one; before the first, born_seq - 1 */
    struct feed_ring *ring; /* NULL: nobody has watched for a while */
    struct list waiting;
    struct later over; /* their status is decided */
    struct timer turn; /* answers those whose news have come */
    struct timer forget;
    unsigned count; /* follows, those on `over` included */
};

void feed_init(struct feed *feed, struct core *core);
void feed_fini(struct feed *feed);

/* Gives the delivery its number; copies the rest where somebody watches. */
void feed_add(struct feed *feed, const struct feed_item *h);

/* The rest of queue_follow(); queue_follow_cancel() is here, too. */
void feed_follow(struct feed *feed, struct follow *follow);
void feed_refuse(struct feed *feed, struct follow *follow, enum status status);
void feed_cancel_all(struct feed *feed);

#endif
