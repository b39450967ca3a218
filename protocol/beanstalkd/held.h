/* The reservations of connections: what each of them holds, and for how long.
 *
 * Only the connection that reserved a job may delete, release, bury or touch it as its holder,
 * and its end gives all its jobs back. Each reservation has a timer, which says by this node's
 * clock how far it is:
 *
 *   FRESH --1 s before its end--> SOON --its end--> OVER --HELD_OVER_MS--> given back
 *
 *   SOON   its connection is told so, in place of being made to wait (DEADLINE_SOON)
 *   OVER   the store's own clock decides: until its next scan the holder may still be in time.
 *          Then it is as good as gone, but the store has noted it under this process, and the
 *          note must go (queue.h)
 *
 * A reservation that is given back leaves its connection, and stays here until the store has
 * released it, or has said that it is over; while the store does not answer, that is tried
 * again until the reservation has run out by itself.
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_HELD_H
#define DUEQ_PROTOCOL_BEANSTALKD_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/queue/queue.h"

#define HELD_SOON_MS  1002 /* a second, and what whole milliseconds may add */
#define HELD_OVER_MS  2000
#define HELD_RETRY_MS 500
#define HELD_DONE_MS                                                         \
    60000 /* a job that was done with its delivery is remembered for so long \
           */
#define HELD_SLOTS 4096

enum held_stage { HELD_FRESH, HELD_SOON, HELD_OVER };

/* All of a server's. */
struct held_all {
    struct queue *queue;
    struct timers *timers;
    struct list slots[HELD_SLOTS];
    struct list ending; /* those that are given back */
};

/* A connection's. */
struct holder {
    struct held_all *all;
    struct list list; /* in the order of reservation */
    unsigned soon;    /* of them: so many are SOON */
    /* One more is SOON. The callback must not end reservations. */
    void (*on_soon)(struct holder *holder);
};

struct held {
    struct list link; /* in its holder's, or in `ending` */
    struct list slot;
    struct held_all *all;
    struct holder *holder; /* NULL: it is given back */
    struct timer timer;
    enum held_stage stage;
    bool is_busy; /* a command of its connection is about it */
    uint64_t number;
    struct bytes topic, id, client;
    unsigned reserves;     /* of the job, with this one */
    int64_t stamp, ttr_ms; /* a TTR of 0: the job was done with its delivery */
    int64_t end_mono_ms;
    struct op op; /* that gives it back */
    char text[];
};

void held_init(struct held_all *all, struct queue *queue, struct timers *timers);
void held_fini(
    struct held_all *all); /* when no holder is left; drops those on their way back */

void holder_init(struct holder *holder, struct held_all *all,
                 void (*on_soon)(struct holder *holder));

/* A job of a pop, just handed over. `client` is for the history. */
void held_add(struct holder *holder, uint64_t number, struct bytes topic, const struct job *job,
              struct bytes client);

/* NULL: it does not hold that. */
struct held *held_find(struct holder *holder, uint64_t number);

/* Of whatever holder; NULL: nobody's here. */
struct held *held_of_any(struct held_all *all, uint64_t number);

/* Its time begins anew, and is so long. */
void held_renew(struct held *held, int64_t left_ms);

/* It has ended, by a command of its own. */
void held_drop(struct held *held);

/* The connection is over: all that it holds is given back, but for what is busy. */
void holder_end(struct holder *holder);

#endif
