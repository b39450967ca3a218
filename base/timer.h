/* Timers on the time that the caller gives them: the event loop's, or a test's.
 *
 * A binary heap of the caller's embedded `struct timer`s. `timers` holds the current time
 * (set by timers_run, read with timers_now) so that everything that happens in one turn of
 * the loop agrees on what time it is. A timer fires once; arm it again from its callback.
 * A timer with no delay fires in the next turn: that is how a thing is called back "later,
 * never from inside the submitting call".
 */
#ifndef DUEQ_BASE_TIMER_H
#define DUEQ_BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct timer {
    void (*on_fire)(struct timer *timer);
    int64_t due_mono_ms;
    uint64_t order; /* equal times fire in the order of arming */
    size_t place;   /* 1-based index in the heap; 0: not armed */
};

struct timers {
    struct timer **heap; /* 1-based */
    size_t count;
    size_t room;
    int64_t now_mono_ms;
    uint64_t next_order;
    void (*on_sooner)(struct timers *timers); /* a timer was armed as the first; may be NULL */
};

void timers_init(struct timers *ts, int64_t now_mono_ms);
void timers_fini(struct timers *ts);
void timer_init(struct timer *t, void (*on_fire)(struct timer *));

/* Arms, or arms anew. `delay_ms` counts from timers_now(); below 0 means 0. */
void timer_arm(struct timers *ts, struct timer *t, int64_t delay_ms);
void timer_disarm(struct timers *ts, struct timer *t);
bool timer_is_armed(const struct timer *t);
int64_t timers_now(const struct timers *ts);

/* Sets the time and fires the timers that are due. A timer armed meanwhile waits for the next
 * call. Returns the milliseconds to the next timer, -1 if there is none. */
int64_t timers_run(struct timers *ts, int64_t now_mono_ms);

/* Calls that have ended; their callers are told in a later turn of the loop.
 *
 * No caller is called back from inside its own call that submits or cancels. A call that was
 * refused, was cancelled or is done gets in line here, and a timer without delay tells all that
 * are in line, in order. A call that ends meanwhile waits for the next turn.
 */

struct later {
    struct timers *timers;
    struct timer timer;
    struct list ended;
    struct list telling; /* to be told in this turn */
    void (*tell)(struct later *later, struct list *link);
};

/* `tell` gets the links in the order of later_add(), each on no list any more. It may add
 * links, but must not call later_fini(). */
void later_init(struct later *l, struct timers *timers,
                void (*tell)(struct later *later, struct list *link));
void later_fini(struct later *l); /* when it is idle */

/* The link must be on no list. list_remove() takes it back, until `tell` has it. */
void later_add(struct later *l, struct list *link);

/* Is nobody in line? The link that `tell` has just got does not count. */
bool later_is_idle(const struct later *l);

#endif
