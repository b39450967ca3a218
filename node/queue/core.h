/* The base of all parts of the engine: the store, the timers, the options, the counters, and
 * the way of an operation to the store and back. The core knows none of the parts; engine.c
 * puts them together and listens in where one part's operation concerns another.
 *
 *   core_send()   op->on_done is kept in op->answer, and is the core's until the answer comes
 *   before        engine.c: what concerns other parts, before the store has the op
 *   on_stored     the store is done with the op
 *   after         engine.c: what concerns other parts, of the answer
 *                 (of a pop that a scan brings, core_carry, there is neither before nor after)
 *   answer        op->on_done is its sender's again, and is called; from then on the op is his
 */
#ifndef DUEQ_NODE_QUEUE_CORE_H
#define DUEQ_NODE_QUEUE_CORE_H

#include "base/timer.h"
#include "node/queue/queue.h"
#include "node/store/store.h"

struct core {
    struct queue_options options;
    struct store *store;
    struct timers *timers;
    struct queue_stats stats;

    unsigned in_flight;   /* operations the store has not answered */
    unsigned leading;     /* of them, those that only a leader may run (op_leads) */
    struct later refused; /* operations that the store never sees */

    /* engine.c's: buckets that the store does not reach, while it reaches others. */
    bool *is_away;

    /* For leadership.c: the token that a leader's operations carry, and whether they may be
     * sent now; may_act NULL: always. */
    struct bytes token;
    bool (*may_act)(void *arg);
    void *may_act_arg;

    /* For engine.c. before: an operation is about to go to the store. after: it is back, and
     * its sender is told next. on_end: see core_note_end(); NULL until the queue stops. */
    void (*before)(struct core *core, const struct op *op);
    void (*after)(struct core *core, const struct op *op);
    void (*on_end)(struct core *core);
};

void core_init(struct core *core, const struct queue_options *options, struct store *store,
               struct timers *timers);
void core_fini(struct core *core);

/* `op` is checked, its topic and bucket are set. Allowed from the op's own on_done, too. */
void core_send(struct core *core, struct op *op);

/* The same for a pop that a scan brings (OP_SCAN_POPS_MAX): the store does not get it by
 * itself. core_carried() ends it as the scan has ended. */
void core_carry(struct core *core, struct op *pop);
void core_carried(struct op *pop, enum status status);

/* For an op that needs what only the store can tell: sends a read of its topic ahead, and when
 * that has ended well, calls `send`, which is to send the op. Where the read fails, so does the
 * op. */
void core_send_after_read(struct core *core, struct op *op,
                          void (*send)(void *arg, struct op *op), void *arg);

/* See store_abandon(). Harmless for an op that is done, or carried. */
void core_abandon(struct core *core, struct op *op);

/* Is the bucket out of reach, while others are not? */
bool core_is_away(const struct core *core, unsigned bucket);

/* To be asked right before an operation of op_leads() is sent, with core->token in it. */
bool core_may_act(const struct core *core);

/* Answers the op with `status` in a later turn; the store never sees it. */
void core_refuse(struct core *core, struct op *op, enum status status);

unsigned core_bucket_of(const struct core *core, struct bytes topic);

/* What a stop waits for has ended. To be called last: the queue may stop. */
void core_note_end(struct core *core);

/* Nothing in flight, nothing to be answered? */
bool core_is_idle(const struct core *core);

#endif
