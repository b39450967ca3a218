/* Leases are renewed while consumers read their replies.
 *
 * A lease that is not confirmed lasts OP_UNCONFIRMED_MS, and a reply may take much longer to be
 * read. So the leases of each delivery are renewed (KEEP) every RENEWAL_INTERVAL_MS, until the
 * protocol says what became of the delivery. A node that dies renews nothing, and its jobs are
 * back within seconds.
 *
 * Nearly every delivery is acknowledged within a tenth of a second. It costs a link in a list,
 * and one timer for all deliveries looks at the oldest. A renewal that fails is not repeated:
 * the next one still comes in time. A renewal is sent at once in two cases: its turn has passed
 * while the last one took long to fail; or the first turn has passed because the pop's answer
 * was long on its way. A renewal that comes after the confirmation or the return changes
 * nothing. When the store is away, or the node is frozen, for longer than a lease lasts, the
 * lease is over as with a node that died.
 */
#ifndef DUEQ_NODE_QUEUE_RENEWALS_H
#define DUEQ_NODE_QUEUE_RENEWALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/queue/hash.h"
#include "node/store/op.h"

/* A job that was handed out, from the pop until the store knows what became of it.
 *
 * One piece of memory with its texts behind it. deliveries.c makes them, a batch frees its own.
 */

struct delivery;

struct handed_job {
    struct list link; /* in its delivery, in pending, or in its batch */
    UT_hash_handle hh;
    uint64_t key;              /* bucket and stamp: the lease */
    struct delivery *delivery; /* HELD: whose it is */
    bool is_acking;
    int64_t pending_mono_ms; /* PENDING: since when */
    int64_t due_mono_ms;     /* when it was due, by this node's clock */
    bool was_awaited;
    int64_t stamp;
    unsigned tries; /* before this one */
    bool has_ttr;   /* as in struct lease */
    int64_t ttr_ms;
    bool is_owned;             /* its reservation was noted */
    bool ends_with_delivery;   /* it has no time to run */
    int64_t reserved_until_ms; /* once delivered: when the reservation ends without
                                * confirmation, by the store's clock */
    unsigned bucket;
    struct bytes id;     /* in text */
    struct bytes topic;  /* in text */
    struct bytes holder; /* in text; "client@node", or "" */
    char text[];
};

/* Bucket, stamp, tries and texts are those of the job that `op` popped; the rest is zero.
 * free() it. */
struct handed_job *handed_job_new(const struct op *op, const struct job *job,
                                  struct bytes holder);

/* The key of a lease. */
uint64_t handed_job_key(unsigned bucket, int64_t stamp);

/* The holder's name, in `room`: "client@node", cut where it is too long; "" where the client,
 * which has QUEUE_CLIENT_MAX_BYTES at most, has no name. */
struct bytes handed_job_holder(struct bytes client, struct bytes node,
                               char room[JOB_HOLDER_MAX]);

/* Leases of one topic travel in one operation, and are sent again until the store takes them.
 *
 * Without the confirmation the job is handed out a second time after a few seconds, though its
 * consumer has it. So a batch that did not arrive is repeated for as long as that can help:
 * about the five seconds of the provisional reservation. A batch given up is counted and
 * logged. A batch that did arrive may be repeated: the store takes a confirmation once.
 */

struct core;

struct batches {
    struct core *core;
    struct list waiting; /* to be sent again */
    struct timer timer;
    bool is_closing;
    int64_t said_mono_ms; /* when the last loss was logged */
};

void batches_init(struct batches *bs, struct core *core);
void batches_fini(struct batches *bs);

/* Takes all `jobs` (handed_job.link) over: those of a topic together, DELIVERED or RETURN. */
void batches_send(struct batches *bs, enum op_verb verb, struct list *jobs);

/* From now on nothing is sent a second time. */
void batches_close(struct batches *bs);

/* Nothing waits to be sent again? (What is under way counts as in flight with the core.) */
bool batches_are_idle(const struct batches *bs);

#define RENEWAL_INTERVAL_MS 2000 /* two fit into a reservation, with room for a slow store */

_Static_assert(2 * RENEWAL_INTERVAL_MS < OP_UNCONFIRMED_MS, "one sent may fail");
struct renewal_op;

struct renewals {
    struct core *core;
    struct list all; /* in order of their turns */
    struct timer timer;
};

/* The renewals of one delivery, whose reply is being read. The caller embeds it. */
struct renewal {
    const struct list *jobs; /* handed_job.link: 1 to OP_ITEMS_MAX, all of one topic; fewer by
                              * and by */
    struct list link;
    int64_t next_mono_ms;
    int64_t until_ms; /* the reservations last until then at least, by the store's clock */
    struct renewal_op *sent; /* on its way to the store; NULL: none is */
    bool is_owed;            /* its turn came while `sent` was on its way */
};

void renewals_init(struct renewals *rs, struct core *core);
void renewals_fini(struct renewals *rs);

/* `jobs`, which `pop` has brought, are borrowed until renewals_remove, which comes before the
 * last job is taken out. */
void renewals_add(struct renewals *rs, struct renewal *r, const struct list *jobs,
                  const struct op *pop);

/* Harmless twice. */
void renewals_remove(struct renewal *r);

#endif
