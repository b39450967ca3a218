/* The one event loop of a process: libevent's, with our timers on it.
 *
 * A turn of the loop runs the callbacks of descriptors, then those of timers; all timers of a
 * turn see the same timers_now(). Timers come in between where descriptors take longer than 5
 * to 9 ms: ten thousand clients may be ready at once. Stalls are counted, because a stalled
 * loop is the first thing to know about when jobs come late.
 */
#ifndef DUEQ_BASE_LOOP_H
#define DUEQ_BASE_LOOP_H

#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"

#define LOOP_STALL_TOLD_MS 500 /* a stall at least this long is logged */

struct event;
struct event_base;

/* What is done at the end of a turn: when the descriptors that were ready have been served.
 * First what the turn has gathered is sent, then what it has sent is written. */
enum turn_phase { TURN_SEND, TURN_WRITE, TURN_PHASES };

/* The caller embeds it. */
struct turn_end {
    struct list link;
    enum turn_phase phase;
    void (*run)(struct turn_end *end);
};

struct loop {
    struct timers timers; /* first: the loop is found from its timers */
    struct event_base *base;
    struct event *alarm; /* of timer_fd, which fires when the first timer is due */
    struct event *soon;  /* fires in the next turn, for a timer that is due already */
    struct event *end;   /* never in the kernel: made active by hand */
    struct list ends[TURN_PHASES];
    int timer_fd;
    int64_t alarm_mono_ms; /* what timer_fd is set to; 0: nothing */

    /* A stall: a turn in which a timer has waited more than 10 ms beyond its due time. */
    uint64_t stall_count;
    int64_t stall_total_ms; /* the sum of the longest wait in each such turn */
    int64_t stall_max_ms;   /* the longest wait of any turn, stalled or not */

    /* After a stall of LOOP_STALL_TOLD_MS, before the timers that waited. May be NULL. */
    void (*on_stall)(void *arg);
    void *arg;
};

/* Never NULL; aborts when the system cannot give an event base. */
struct loop *loop_new(void);
void loop_free(struct loop *l);

/* Runs until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Brings timers_now() up to date: call first in every descriptor callback. */
void loop_touch(struct loop *l);

/* Its callback comes before those of all others that are ready, within 5 to 9 ms. Call before
 * event_add(); for what is rare, and must not wait behind a crowd of clients. */
void loop_serve_first(struct event *event);

void turn_end_init(struct turn_end *end, enum turn_phase phase,
                   void (*run)(struct turn_end *end));

/* Runs it once, at the end of this turn; harmless twice. */
void turn_end_ask(struct turn_end *end, struct loop *l);

/* Harmless where it was not asked for. */
void turn_end_cancel(struct turn_end *end);

#endif
