/* Operations that wait for Redis. The gate decides whether an operation goes now, waits or is
 * refused. The hold keeps waiting ones for a limited time. Those that a lost connection left
 * unanswered are sent again.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WAIT_QUEUE_H
#define DUEQ_NODE_STORE_REDIS_WAIT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"
#include "node/store/redis/breaker.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/store.h"

/* ---- the gate ----
 *
 * The circuit breaker of a lane at work (breaker.h): its timer, its lines in the log, and the
 * decision whether an operation goes now, waits, or is refused.
 */

struct redis_gate_events {
    void (*on_turned)(void *arg);     /* the breaker's state has changed */
    bool (*is_waited_for)(void *arg); /* is anything in flight here, or held? */
    bool (*is_idle)(void *arg);       /* is the connection good, with nothing in flight? */
    void (*on_try)(void *arg);        /* it was OPEN long enough: what is held may go */
    void *arg;
};

struct redis_gate {
    struct redis_breaker breaker;
    struct redis_gate_events events;
    enum breaker_state said; /* in the log */
    struct timers *timers;
    struct redis_store_stats *stats;
    const struct redis_link *link; /* which says why, for the log */
    struct timer timer;            /* when silence has lasted too long; when to try again */
    int64_t tripped_mono_ms;       /* when it opened last */
};

/* All are borrowed, `options` for this call only. `stats` counts how often the breaker
 * opens. */
void redis_gate_init(struct redis_gate *g, const struct redis_store_options *options,
                     struct redis_store_stats *stats, const struct redis_link *link,
                     struct timers *timers, const struct redis_gate_events *events);

/* The breaker's numbers have changed; its state stays, unless the silence is now too long. */
void redis_gate_reload(struct redis_gate *g, const struct redis_store_options *options);
void redis_gate_fini(struct redis_gate *g);

/* See breaker.h. */
void redis_gate_asked(struct redis_gate *g);
void redis_gate_answered(struct redis_gate *g);
void redis_gate_fit(struct redis_gate *g);
void redis_gate_lost(struct redis_gate *g, bool is_late);
bool redis_gate_passes(const struct redis_gate *g, unsigned in_flight);
bool redis_gate_refuses(const struct redis_gate *g);

/* ---- the hold ----
 *
 * The waiting list: first come, first out, and each only for a limited time.
 *
 * An entry that was sent and comes back gets its old place: before all that came after it,
 * whatever the order of coming back. Its time runs from its first wait.
 *
 * Pure but for the timers. A waiting entry is on this list and on no other.
 */

/* The caller embeds it. */
struct redis_held {
    struct list link;
    int64_t until_mono_ms; /* 0: has not waited yet */
    uint64_t number;       /* the caller's: higher than that of all who came before */
};

struct redis_hold {
    struct timers *timers;
    struct list list;  /* oldest first */
    struct list *back; /* the one put back last that is still here; or the list's head */
    struct timer timer;
    uint64_t *gauge; /* how many */
    /* The time of `held` is over, and it is the caller's again. Others may be added and taken
     * in here. */
    void (*on_expired)(struct redis_hold *h, struct redis_held *held);
};

/* `timers` and `gauge`, which is 0, are borrowed. */
void redis_hold_init(struct redis_hold *h, struct timers *timers, uint64_t *gauge,
                     void (*on_expired)(struct redis_hold *h, struct redis_held *held));
void redis_hold_fini(struct redis_hold *h); /* empty */

/* `ms` is the same for all that wait; see redis_hold_limit(). */
void redis_hold_add(struct redis_hold *h, struct redis_held *held, int64_t ms);
struct redis_held *redis_hold_first(struct redis_hold *h); /* the oldest; NULL: none */
struct redis_held *redis_hold_take(struct redis_hold *h);  /* the same, and it waits no more */

/* `held` was sent, and waits again. */
void redis_hold_put_back(struct redis_hold *h, struct redis_held *held, int64_t ms);

/* From now on nobody waits for longer than `ms`. */
void redis_hold_limit(struct redis_hold *h, int64_t ms);

/* `held` waits no more. */
void redis_hold_remove(struct redis_hold *h, struct redis_held *held);
bool redis_hold_is_empty(const struct redis_hold *h);

/* ---- a retry ---- */

/* What the answer to a retry, `status`, says of the first try. */
enum status redis_retried_status(enum op_verb verb, enum status status);

#endif
