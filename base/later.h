/* Calls that have ended, and are told so in a later turn.
 *
 * Nobody is called back from inside the call that submits, or cancels: what is refused,
 * cancelled or over gets in line here, and a timer without delay tells them, one after the
 * other. What ends while they are told waits for the turn after that.
 */
#ifndef DUEQ_BASE_LATER_H
#define DUEQ_BASE_LATER_H

#include <stdbool.h>

#include "base/list.h"
#include "base/timer.h"

struct later {
    struct timers *timers;
    struct timer timer;
    struct list ended;
    struct list telling; /* those of this turn */
    void (*tell)(struct later *later, struct list *link);
};

/* `tell` gets each in the order in which they were added, its link on no list any more. It may
 * add others, but not end the `later` itself. */
void later_init(struct later *l, struct timers *timers,
                void (*tell)(struct later *later, struct list *link));
void later_fini(struct later *l); /* when it is idle */

/* The link must be on no list. Until it is told list_remove() takes it back. */
void later_add(struct later *l, struct list *link);

/* Nobody to be told? The one that is being told does not count. */
bool later_is_idle(const struct later *l);

#endif
