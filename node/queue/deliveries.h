/* Popped jobs, until they are known to have reached their consumer.
 *
 * A popped job is reserved for some seconds only, and again for as long as its consumer reads
 * (renewals.h). When the consumer's kernel has the reply, the delivery is confirmed (DELIVERED:
 * the job's own TTR begins, or it is gone with TTR 0). When the consumer had left, the job is
 * given back (RETURN: first in line again, no try counted). A node that dies in between loses
 * nothing.
 *
 * Confirmations wait for five to ten milliseconds, or until they are many, and travel together,
 * a script for each topic. A job that is acknowledged meanwhile needs no confirmation. A lease
 * that is used, over whatever connection, proves that its consumer has it:
 *
 *   HELD --delivered, lease used--> PENDING --time or enough of them--> sent, then freed
 *    |                                |  ^
 *    |returned                        |  | the acknowledgement failed
 *    v                          ack   v  |
 *   sent, then freed                 ACKING --acknowledged--> freed
 *
 * A delivery left open (HELD --left open--> freed) is as if the node had died: the store gives
 * the job again when its few seconds are over, with no try counted, unless its lease is used.
 *
 * HELD items belong to the `struct delivery` that the protocol holds; their leases are renewed.
 */
#ifndef DUEQ_NODE_QUEUE_DELIVERIES_H
#define DUEQ_NODE_QUEUE_DELIVERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/queue/renewals.h"
#include "node/store/op.h"

struct core;
struct delivery;
struct feed;
struct history;
struct pop;

struct deliveries {
    struct core *core;
    struct feed *feed;           /* told of them, for those who watch */
    struct history *history;     /* told of them, to write them down */
    struct handed_job *by_lease; /* hash: HELD, PENDING and ACKING */
    struct list pending;         /* oldest first */
    unsigned pending_count;
    unsigned held_count; /* deliveries that protocols hold */
    struct timer timer;  /* sends the pending ones */
    struct renewals renewals;
    struct batches batches;
};

void deliveries_init(struct deliveries *ds, struct core *core, struct feed *feed,
                     struct history *history);
void deliveries_fini(struct deliveries *ds);

/* A new delivery of some of the jobs that an answered POP brought; copies what it needs. `pop`
 * is the consumer, NULL where it has left already. Jobs that became due while it was waiting
 * count in the delivery-lateness histogram. */
struct delivery *delivery_new(struct deliveries *ds, const struct op *op,
                              const struct job *jobs, unsigned count, const struct pop *pop);

void deliveries_confirm(struct deliveries *ds, struct delivery *d);
void deliveries_return(struct deliveries *ds, struct delivery *d);
void deliveries_leave_open(struct deliveries *ds, struct delivery *d);

/* Sends all that is pending, now. */
void deliveries_flush(struct deliveries *ds);

/* An operation with a lease is about to be sent, and has been answered: see the diagram. */
void deliveries_before(struct deliveries *ds, const struct op *op);
void deliveries_after(struct deliveries *ds, const struct op *op);

/* The engine stops: what the store does not take at the next attempt is given up. */
void deliveries_close(struct deliveries *ds);

/* Nothing held and nothing pending? (What was sent counts as in flight with the queue.) */
bool deliveries_are_idle(const struct deliveries *ds);

#endif
