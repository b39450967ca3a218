/* The engine's parts, put together: what stands behind a `struct queue`.
 *
 * queue.c, the front door, hands each request to its part; engine.c makes the parts, and tells
 * them of each other's operations and of what the store says unasked; leadership.c says when
 * they work. The parts themselves know core.h, and not this.
 */
#ifndef DUEQ_NODE_QUEUE_ENGINE_H
#define DUEQ_NODE_QUEUE_ENGINE_H

#include "node/queue/census.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/leadership.h"
#include "node/queue/feed.h"
#include "node/queue/scanner.h"
#include "node/queue/history.h"
#include "node/queue/owners.h"
#include "node/queue/reconciler.h"
#include "node/queue/settings.h"
#include "node/queue/sweeps.h"
#include "node/queue/waiters.h"

struct queue {
    struct core core;
    struct lifecycle life;
    struct leadership leadership;
    struct scanner scanner;
    struct hints hints;
    struct deliveries deliveries;
    struct owners owners;
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
};

#endif
