/* Finds what is due and has it moved: one timer for each bucket, never a poll.
 *
 *            fire, hint, start               answer: more is due
 *   RESTING -------------------> SCANNING -----------------------+
 *      ^        (op in flight)      |  ^                         |
 *      +----------------------------+  +-------------------------+
 *        answer: next event in n ms
 *
 * A bucket rests until its first event, as the last answer told it, or until the safety
 * interval is over, whichever is sooner. An operation that creates an earlier event says so
 * in its answer (op.wait_ms) and the queue passes it on as a hint, from other nodes by way of
 * the store. A hint that comes while the bucket is being scanned is kept, because the scan may
 * have looked before it.
 *
 * Before each scan the node is asked whether it may act; where it may not, nothing is sent.
 * After that, and after a scan that failed, the bucket rests for a second at most; at first
 * for some milliseconds only.
 *
 * The scan asks the store, and the store's clock alone decides what is due: a timer that
 * fires too soon costs a round trip and moves nothing.
 */
#ifndef DUEQ_NODE_QUEUE_SCANNER_H
#define DUEQ_NODE_QUEUE_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct scanned_bucket;

struct scanner {
    struct core *core;
    struct scanned_bucket *buckets;
    unsigned count;
    bool is_active;
};

void scanner_init(struct scanner *s, struct core *core);
void scanner_fini(struct scanner *s);

/* Starts with a scan of every bucket. */
void scanner_activate(struct scanner *s);

/* No new scan starts; those in flight end as they end. */
void scanner_deactivate(struct scanner *s);

/* The bucket has an event in `wait_ms` that its timer may not know of. */
void scanner_hint(struct scanner *s, unsigned bucket, int64_t wait_ms);

/* Look at every bucket now: after the store was away. */
void scanner_scan_all(struct scanner *s);

#endif
