/* The one event loop of a process: libevent's, with our timers on it.
 *
 * A turn of the loop is: what the descriptors brought, then what the timers brought. All of
 * it sees the same timers_now(). The longest turn is kept, because a stalled loop is the
 * first thing to know about when jobs come late.
 */
#ifndef DUEQ_BASE_LOOP_H
#define DUEQ_BASE_LOOP_H

#include <stdint.h>

#include "base/timer.h"

#define LOOP_STALL_TOLD_MS 500 /* a stall of so long is a line in the log */

struct event;
struct event_base;

struct loop {
    struct timers timers; /* first: the loop is found from its timers */
    struct event_base *base;
    struct event *alarm; /* of timer_fd, which fires when the first timer is due */
    struct event *soon;  /* when one is due already: in the next turn */
    int timer_fd;
    int64_t alarm_mono_ms; /* what timer_fd is set to; 0: nothing */

    /* A stall: a turn in which a timer has waited more than 10 ms beyond its due time. */
    uint64_t stall_count;
    int64_t stall_total_ms; /* how long the timers of these turns have waited */
    int64_t stall_max_ms;   /* the longest wait of all, a stall or not */
};

/* Never NULL; aborts when the system cannot give an event base. */
struct loop *loop_new(void);
void loop_free(struct loop *l);

/* Runs until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Brings timers_now() up to date: call first in every descriptor callback. */
void loop_touch(struct loop *l);

#endif
