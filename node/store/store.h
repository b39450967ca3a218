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

/* Events of the store. Called from the event loop, never from inside a store call. */
struct store_events {
    /* The topic has its first ready job (pushed, due, released or expired), or may have.
     * `topic` is borrowed for the call. */
    void (*on_ready)(void *arg, struct bytes topic);
    /* Somebody has changed the topic's settings or its pause, or may have. After on_up those of
     * all topics may have changed. `topic` is borrowed. May be NULL. */
    void (*on_settings)(void *arg, struct bytes topic);
    /* Somebody has changed an identity, or may have. After on_up, too. May be NULL. */
    void (*on_identities)(void *arg);
    /* Another node says that a topic of the share has an event in `wait_ms`. May be NULL. */
    void (*on_hint)(void *arg, unsigned bucket, unsigned share, int64_t wait_ms);
    /* An operation, whose answer comes later, has made the topic's first event: in `wait_ms`.
     * May be NULL. */
    void (*on_event)(void *arg, unsigned bucket, struct bytes topic, int64_t wait_ms);
    /* Operations reach the store and wake-ups are heard from now on. Before every first
     * on_up, and between on_down and the next on_up, wake-ups may be lost: whoever waits
     * must look again. */
    void (*on_up)(void *arg);
    void (*on_down)(void *arg);
    /* While the store is up: operations reach this bucket no more, or again; whoever waits for
     * its topics must look again then. on_up means all buckets but those named right after it.
     * May be NULL. */
    void (*on_bucket)(void *arg, unsigned bucket, bool is_reached);
    /* While the store is up: wake-ups of this bucket may have been lost, whoever waits for its
     * topics must look again. Repeated while wake-ups cannot be heard. May be NULL. */
    void (*on_missed)(void *arg, unsigned bucket);
    /* Right after on_up: the stored data has fallen back to an earlier state, and the log has
     * said so. Jobs are missing, or are where they were before. May be NULL. */
    void (*on_rollback)(void *arg);
    /* A question: are leases without a check handed out now, by this node or by one of an older
     * version? The store keeps a yes (lease_key.has_bare). May be NULL: no. */
    bool (*has_bare)(void *arg);
    void *arg;
};

/* The key of the checks that leases carry (node/queue/lease_checks.h), the same for all nodes
 * of the store. Known before any operation is answered; it may change at any time. */
#define STORE_LEASE_KEY_BYTES 32

struct store_lease_key {
    bool is_known;
    bool has_bare; /* leases without a check may be out: an older version has begun the store,
                    * or a node has said so since: events.has_bare, or by setting this, which
                    * the store keeps with its next look */
    unsigned char bytes[STORE_LEASE_KEY_BYTES];
};

struct store;

struct store_ops {
    void (*submit)(struct store *store, struct op *op);
    void (*abandon)(struct store *store, struct op *op);
    void (*hint)(struct store *store, unsigned bucket, unsigned share, int64_t wait_ms);
};

struct store {
    const struct store_ops *ops;
    struct store_events events;       /* set before the first turn of the loop */
    struct store_lease_key lease_key; /* for the engine to read */
    uint64_t worker;  /* this process, as its notes name it (op.h, OP_NOTES_MAX); never 0 */
    unsigned buckets; /* fixed for the life of the data */
    bool
        has_parts; /* a bucket may be out of reach, or hang, while others are not (on_bucket) */
};

/* See op.h for who owns what until on_done. */
static inline void store_submit(struct store *store, struct op *op)
{
    store->ops->submit(store, op);
}

/* Nobody wants the answer any more. An op that was never sent, and waits for a store that is
 * away, is dropped: it ends UNAVAILABLE in a later turn. A read (TRAIT_READS, and not is_ahead)
 * is dropped wherever it waits, now or later, sent before or not. Any other op goes on.
 * Harmless at any time while the op's memory is there. */
static inline void store_abandon(struct store *store, struct op *op)
{
    store->ops->abandon(store, op);
}

/* Tells all nodes, for the one that scans the share, that a topic of it has an event in
 * `wait_ms`. Best effort, not answered: the safety scan finds an event nobody has heard of. */
static inline void store_hint(struct store *store, unsigned bucket, unsigned share,
                              int64_t wait_ms)
{
    store->ops->hint(store, bucket, share, wait_ms);
}

#endif
