/* What all parts of the engine stand on: the store, the timers, the options, the counters,
 * and the way of an operation to the store and back. It knows none of the parts; engine.c
 * puts them together and listens in where one part's operation concerns another.
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
    struct later refused; /* operations it never sees */

    /* engine.c's: buckets that the store does not reach, while it reaches others. */
    bool *is_away;

    /* For leadership.c: what is sent as the leader carries the token, and is sent only while it
     * may act; NULL: always. */
    struct bytes token;
    bool (*may_act)(void *arg);
    void *may_act_arg;

    /* For engine.c: before an operation goes to the store; when it is back, before whoever
     * sent it hears of it; and when anything has ended, as the last thing. */
    void (*before)(struct core *core, const struct op *op);
    void (*after)(struct core *core, const struct op *op);
    void (*on_end)(struct core *core);
};

void core_init(struct core *core, const struct queue_options *options, struct store *store,
               struct timers *timers);
void core_fini(struct core *core);

/* Of checked operations, topic and bucket set. Also again from their own on_done. */
void core_send(struct core *core, struct op *op);

/* Whoever asked has left: what waits for a store that is away ends UNAVAILABLE, soon. Harmless
 * for one that is done. */
void core_abandon(struct core *core, struct op *op);

/* Is it out of reach, while others are not? */
bool core_is_away(const struct core *core, unsigned bucket);

/* To be asked right before an operation of op_leads() is sent, with core->token in it. */
bool core_may_act(const struct core *core);

/* Answers it with `status` in a later turn; the store never sees it. */
void core_refuse(struct core *core, struct op *op, enum status status);

unsigned core_bucket_of(const struct core *core, struct bytes topic);

/* Nothing in flight, nothing to be answered? */
bool core_is_idle(const struct core *core);

#endif
