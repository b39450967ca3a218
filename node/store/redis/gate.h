/* The circuit breaker of a lane at work (breaker.h): its timer, its lines in the log. Here it
 * is decided whether an operation goes now, waits, or is refused.
 */
#ifndef DUEQ_NODE_STORE_REDIS_GATE_H
#define DUEQ_NODE_STORE_REDIS_GATE_H

#include "base/timer.h"
#include "node/store/redis/breaker.h"
#include "node/store/redis/link.h"
#include "node/store/redis/store.h"

struct redis_gate_events {
    void (*on_turned)(void *arg);     /* the breaker's state is another */
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

/* All are borrowed; of the options only now. In the stats it counts how often it opens. */
void redis_gate_init(struct redis_gate *g, const struct redis_store_options *options,
                     struct redis_store_stats *stats, const struct redis_link *link,
                     struct timers *timers, const struct redis_gate_events *events);

/* The breaker's numbers are others; its state stays, but for silence that is now too long. */
void redis_gate_reload(struct redis_gate *g, const struct redis_store_options *options);
void redis_gate_fini(struct redis_gate *g);

/* See breaker.h. */
void redis_gate_asked(struct redis_gate *g);
void redis_gate_answered(struct redis_gate *g);
void redis_gate_fit(struct redis_gate *g);
void redis_gate_lost(struct redis_gate *g, bool is_late);

bool redis_gate_passes(const struct redis_gate *g, unsigned in_flight);
bool redis_gate_refuses(const struct redis_gate *g);

#endif
