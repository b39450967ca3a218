/* Who waits for Redis: first come, first out, and each only for a limited time.
 *
 * Who was sent and comes back goes where he was: before all that came after him, whatever the
 * order of coming back. His time goes on from when he waited first.
 *
 * Pure but for the timers. Who waits is on this list and on no other.
 */
#ifndef DUEQ_NODE_STORE_REDIS_HOLD_H
#define DUEQ_NODE_STORE_REDIS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"

/* The caller embeds it. */
struct redis_held {
    struct list link;
    int64_t until_mono_ms; /* 0: has not waited yet */
    uint64_t number;       /* the caller's: higher than that of all who came before */
};

struct redis_hold {
    struct timers *timers;
    struct list list;  /* oldest first */
    struct list *back; /* who came back last, and is still here; or the list's head */
    struct timer timer;
    uint64_t *gauge; /* how many */
    /* Its time is over, and it is the caller's again. Others may be added and taken in here. */
    void (*on_expired)(struct redis_hold *h, struct redis_held *held);
};

/* `timers` and `gauge`, which is 0, are borrowed. */
void redis_hold_init(struct redis_hold *h, struct timers *timers, uint64_t *gauge,
                     void (*on_expired)(struct redis_hold *h, struct redis_held *held));
void redis_hold_fini(struct redis_hold *h); /* empty */

/* Of all that wait at a time `ms` is the same; see redis_hold_limit(). */
void redis_hold_add(struct redis_hold *h, struct redis_held *held, int64_t ms);
struct redis_held *redis_hold_first(struct redis_hold *h); /* the oldest; NULL: none */
struct redis_held *redis_hold_take(struct redis_hold *h);  /* the same, and it waits no more */

/* He was sent, and waits again. */
void redis_hold_put_back(struct redis_hold *h, struct redis_held *held, int64_t ms);

/* From now on `ms` is another: nobody waits for longer than that. */
void redis_hold_limit(struct redis_hold *h, int64_t ms);

/* He waits no more. */
void redis_hold_remove(struct redis_hold *h, struct redis_held *held);

bool redis_hold_is_empty(const struct redis_hold *h);

#endif
