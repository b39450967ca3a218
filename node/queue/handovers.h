/* What was handed out lately, for those who watch.
 *
 * Every hand-over gets the next number, whether anybody watches or not; so a gap in the numbers
 * is what one has missed. They start from the wall clock, because a node that was restarted
 * must not use its old ones again.
 *
 * The last HANDOVERS_MAX are remembered, in a ring, from the first follow until KEEP_MS after
 * the last one: a node that nobody watches spends an addition on each.
 *
 *   queue_follow --> waiting --news, or its time is over--> on_done
 *         \             `------cancelled, stop-----> over --next turn--> on_done
 *          `-- refused -------------------------------^
 */
#ifndef DUEQ_NODE_QUEUE_HANDOVERS_H
#define DUEQ_NODE_QUEUE_HANDOVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "base/list.h"
#include "base/status.h"

#define HANDOVERS_MAX 4096

struct core;
struct follow;
struct handover;
struct handover_ring;

struct handovers {
    struct core *core;
    int64_t born_seq;           /* the first number of this process */
    int64_t last_seq;           /* the newest one; before the first, born_seq - 1 */
    struct handover_ring *ring; /* NULL: nobody has watched for a while */
    struct list waiting;
    struct later over; /* their status is decided */
    struct timer turn; /* answers those whose news have come */
    struct timer forget;
    unsigned count; /* follows, those on `over` included */
};

void handovers_init(struct handovers *hs, struct core *core);
void handovers_fini(struct handovers *hs);

/* It gets its number here; the rest is copied where somebody watches. */
void handovers_add(struct handovers *hs, const struct handover *h);

/* The rest of queue_follow() and queue_follow_cancel(). */
void handovers_follow(struct handovers *hs, struct follow *follow);
void handovers_refuse(struct handovers *hs, struct follow *follow, enum status status);
void handovers_cancel(struct handovers *hs, struct follow *follow);
void handovers_cancel_all(struct handovers *hs);

#endif
