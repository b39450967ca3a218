/* Operations that wait for Redis: the hold keeps them for a limited time. Those that a lost
 * connection left unanswered are sent again.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WAIT_QUEUE_H
#define DUEQ_NODE_STORE_REDIS_WAIT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"

/* ---- the hold ----
 *
 * The waiting list: first come, first out, and each only for a limited time.
 *
 * An entry that was sent and comes back is again where it was: before all that came after it,
 * whatever the order of coming back. Its time runs from its first wait.
 *
 * Pure but for the timers. A waiting entry is on this list and on no other.
 */

/* The caller embeds it. */
struct redis_held {
    struct list link;
    int64_t until_mono_ms; /* 0: has not waited yet */
    uint64_t number;       /* the caller's: higher than that of all who came before */
};

struct redis_hold {
    struct timers *timers;
    struct list list;  /* oldest first */
    struct list *back; /* the one put back last that is still here; or the list's head */
    struct timer timer;
    uint64_t *gauge; /* how many */
    /* The time of `held` is over, and it is the caller's again. Others may be added and taken
     * in here. */
    void (*on_expired)(struct redis_hold *h, struct redis_held *held);
};

/* `timers` and `gauge`, which is 0, are borrowed. */
void redis_hold_init(struct redis_hold *h, struct timers *timers, uint64_t *gauge,
                     void (*on_expired)(struct redis_hold *h, struct redis_held *held));
void redis_hold_fini(struct redis_hold *h); /* empty */

/* `ms` is the same for all that wait; see redis_hold_limit(). */
void redis_hold_add(struct redis_hold *h, struct redis_held *held, int64_t ms);
struct redis_held *redis_hold_first(struct redis_hold *h); /* the oldest; NULL: none */
struct redis_held *redis_hold_take(struct redis_hold *h);  /* the same, and it waits no more */

/* `held` was sent, and waits again. */
void redis_hold_put_back(struct redis_hold *h, struct redis_held *held, int64_t ms);

/* From now on nobody waits for longer than `ms`. */
void redis_hold_limit(struct redis_hold *h, int64_t ms);

/* `held` waits no more. */
void redis_hold_remove(struct redis_hold *h, struct redis_held *held);
bool redis_hold_is_empty(const struct redis_hold *h);

/* ---- a retry ---- */

/* What the answer to a retry, `status`, says of the first try. */
enum status redis_retried_status(enum op_verb verb, enum status status);

#endif
