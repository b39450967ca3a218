/* The store port: where jobs live. Two implementations, held together by one contract test:
 * `redis_store` (the real one) and `memory_store` (for tests and simulation).
 *
 * Every operation is atomic within its bucket. The store knows nothing of consumers, limits
 * or timers; it moves a job from one place to another and says what became due.
 */
#ifndef DUEQ_NODE_STORE_STORE_H
#define DUEQ_NODE_STORE_STORE_H

#include <stdbool.h>

#include "node/store/op.h"

/* What the store says unasked. Called from the event loop, never from inside a store call. */
struct store_events {
    /* The topic had no ready job and now has one (pushed, due, released or expired), or it
     * may have: `topic` is borrowed for the call. */
    void (*on_ready)(void *arg, struct bytes topic);
    /* The topic's settings or its pause have changed, or may have: somebody has configured it.
     * The same holds for all of them after on_up. `topic` is borrowed. May be NULL. */
    void (*on_settings)(void *arg, struct bytes topic);
    /* A topic of that share of the bucket has an event in `wait_ms`: another node says so. May
     * be NULL. */
    void (*on_hint)(void *arg, unsigned bucket, unsigned share, int64_t wait_ms);
    /* The topic has its first event in `wait_ms`, by an operation whose own answer comes later.
     * May be NULL. */
    void (*on_event)(void *arg, unsigned bucket, struct bytes topic, int64_t wait_ms);
    /* Operations reach the store and wake-ups are heard from now on. Before every first
     * on_up, and between on_down and the next on_up, wake-ups may be lost: whoever waits
     * must look again. */
    void (*on_up)(void *arg);
    void (*on_down)(void *arg);
    /* While it is up: operations do not reach this bucket any more, or do again; whoever waits
     * for its topics must look again then. All are reached from on_up on, but for those that
     * are told otherwise right after it. May be NULL. */
    void (*on_bucket)(void *arg, unsigned bucket, bool is_reached);
    /* While it is up: wake-ups of this bucket may have been lost, whoever waits for its topics
     * must look again. Often, for as long as they cannot be heard. May be NULL. */
    void (*on_missed)(void *arg, unsigned bucket);
    /* Right after on_up: what was stored has fallen back to an earlier state, and the log has
     * said so. Jobs are missing, or are where they were before. May be NULL. */
    void (*on_rollback)(void *arg);
    void *arg;
};

struct store;

struct store_ops {
    void (*submit)(struct store *store, struct op *op);
    void (*abandon)(struct store *store, struct op *op);
    void (*hint)(struct store *store, unsigned bucket, unsigned share, int64_t wait_ms);
};

struct store {
    const struct store_ops *ops;
    struct store_events events; /* set before the first turn of the loop */
    unsigned buckets;           /* fixed for the life of the data */
};

/* See op.h for who owns what until on_done. */
static inline void store_submit(struct store *store, struct op *op)
{
    store->ops->submit(store, op);
}

/* Nobody wants it any more: if it waits for a store that is away, and was never sent, it is
 * dropped, and ends UNAVAILABLE in a later turn. So is what only reads (op_is_read, and not
 * is_ahead) whatever it waits for, now or later, and whether it was sent before. Otherwise what
 * was sent goes on. Harmless at any time while the op's memory is there. */
static inline void store_abandon(struct store *store, struct op *op)
{
    store->ops->abandon(store, op);
}

/* Tells all nodes that a topic of that share has an event in `wait_ms`, for the one that scans
 * it. Best effort, not answered: the safety scan finds what nobody has heard of. */
static inline void store_hint(struct store *store, unsigned bucket, unsigned share,
                              int64_t wait_ms)
{
    store->ops->hint(store, bucket, share, wait_ms);
}

#endif
