/* A job that was handed out, from the pop until the store knows what became of it.
 *
 * One piece of memory with its texts behind it. deliveries.c makes them, a batch frees its own.
 */
#ifndef DUEQ_NODE_QUEUE_HANDED_JOB_H
#define DUEQ_NODE_QUEUE_HANDED_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "node/queue/hash.h"
#include "node/store/op.h"

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
    bool ends_with_delivery;   /* it has no time to run */
    int64_t reserved_until_ms; /* once delivered: so long, by the store's clock, without
                                * confirmation */
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

/* Who holds it, in `room`: "client@node", cut where it is too long; "" where the client, which
 * has QUEUE_CLIENT_MAX_BYTES at most, has no name. */
struct bytes handed_job_holder(struct bytes client, struct bytes node,
                               char room[JOB_HOLDER_MAX]);

#endif
