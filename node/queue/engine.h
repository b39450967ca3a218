/* The engine's parts, put together: what stands behind a `struct queue`.
 *
 * queue.c, the front door, hands each request to its part; engine.c makes the parts, tells them
 * of each other's operations and of what the store says unasked, and says when they work. The
 * parts themselves know core.h, and not this.
 */
#ifndef DUEQ_NODE_QUEUE_ENGINE_H
#define DUEQ_NODE_QUEUE_ENGINE_H

#include "node/queue/census.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/feed.h"
#include "node/queue/history.h"
#include "node/queue/ids.h"
#include "node/queue/leadership.h"
#include "node/queue/lease_checks.h"
#include "node/queue/owned.h"
#include "node/queue/reconciler.h"
#include "node/queue/scanner.h"
#include "node/queue/settings.h"
#include "node/queue/sweeps.h"
#include "node/queue/waiters.h"

/* When the engine works: standing by, active, stopped.
 *
 *   STANDBY <---------------> ACTIVE
 *      |  activate, deactivate   |
 *      +-------> STOPPING <------+
 *                   |  all that was asked is answered, nothing is in flight
 *                   v
 *                STOPPED: on_stopped was called
 *
 * Operations of consumers and producers are done in STANDBY and ACTIVE alike: they are atomic
 * scripts, which any node may run. Scans and repairs, the work of one node at a time, are done
 * in ACTIVE only; all else of the leadership begins and ends where they do (leadership.h).
 *
 * Where all nodes scan (queue_share) the scans go on in both, each bucket while the store
 * reaches it, and the leadership is the repairs alone.
 *
 * STOPPING takes nothing new. Consumers that wait are answered at once, and what was handed
 * out is confirmed.
 */
enum lifecycle_state {
    LIFECYCLE_STANDBY,
    LIFECYCLE_ACTIVE,
    LIFECYCLE_STOPPING,
    LIFECYCLE_STOPPED,
    LIFECYCLE_STATE_COUNT,
};

struct lifecycle {
    enum lifecycle_state state;
    struct timer stopped; /* calls on_stopped in a turn of its own */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

struct queue {
    struct core core;
    struct lifecycle life;
    struct leadership leadership;
    struct scanner scanner;
    struct hints hints;
    struct deliveries deliveries;
    struct ids ids;
    struct owned owned;
    struct lease_checks lease_checks;
    struct waiters waiters;
    struct feed feed;
    struct history history;
    struct traces traces;
    struct reconciler reconciler;
    struct censuses censuses;
    struct losses losses;
    struct settings_cache settings;
    struct settings_reader settings_reader;
    struct sweeps sweeps;
    void (*identities_heard)(void *arg); /* see queue_hear_identities(); NULL: nobody listens */
    void *identities_arg;
};

/* Are new requests refused with SHUTTING_DOWN? */
bool engine_is_over(const struct queue *q);

/* Something has ended: perhaps it was the last that a stop waits for. */
void engine_check_stopped(struct queue *q);

#endif
