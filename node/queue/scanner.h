/* Finds what is due and has it moved: one timer for each bucket, never a poll.
 *
 *       begin                 fire, hint, look               answer: more is due
 *   OFF -------> RESTING -------------------> SCANNING -----------------------+
 *    ^              ^        (op in flight)      |  ^                         |
 *    |              +----------------------------+  +-------------------------+
 *    +-- end           answer: next event in n ms
 *
 * Each bucket begins and ends by itself: with the leader's token in it (leadership.h), or, in a
 * cluster in which all nodes scan, while the store reaches it. A bucket rests until its first
 * event, as the last answer told it, or until the safety interval is over, whichever is sooner.
 * An operation that creates an earlier event says so in its answer (op.wait_ms); the queue
 * passes that on as a hint, to other nodes by way of the store. A hint that comes during a scan
 * is kept, because the scan may have looked before. A hint of another node is kept, share by
 * share, until its time has come, whatever is scanned before: that node counts on a scan then
 * (struct hints).
 *
 * Where all nodes scan (doc/cluster.md), each scan brings the marks of the node's shares, as of
 * its sending, and hints for other nodes' topics arm no timer. Where one node scans, it is
 * asked before each scan whether it may act; if not, nothing is sent. After that, and after a
 * failed scan, the bucket rests: a second where it may not act, else some milliseconds at
 * first, 250 at most.
 *
 * A scan brings the pops of consumers that wait for what it may find (waiters_carry), and ends
 * them with its own answer.
 *
 * The scan asks the store, and the store's clock alone decides what is due: a timer that
 * fires too soon costs a round trip and moves nothing.
 */
#ifndef DUEQ_NODE_QUEUE_SCANNER_H
#define DUEQ_NODE_QUEUE_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "node/queue/shares.h"
#include "node/store/op.h"

/* ---- hints ----
 *
 * They tell the node that scans a topic of its next event, by way of the store.
 *
 * No hint is needed for an event behind the next safety scan, which finds it; nor for one
 * behind an event that was told and is still to come, because the other node scans then. So one
 * hint is out for each share of a bucket, or, where one node scans all, for each bucket: with
 * 10,000 pushes a second that are due in 500 ms, hints by share would be 60 times as many. (So
 * a job pushed through a standby may be a second late while a cluster is changed to one in
 * which all nodes scan.)
 */

struct core;

struct hints {
    struct core *core;
    bool are_shared;       /* each share of a bucket has its own scanner */
    int64_t *said_mono_ms; /* time of the event that was told last */
};

void hints_init(struct hints *h, struct core *core);
void hints_fini(struct hints *h);

/* All nodes scan from now on, or the view has changed: what was told is forgotten, because it
 * may have been told to others. */
void hints_share(struct hints *h);

/* A topic of that share has its first event in `wait_ms`. */
void hints_tell(struct hints *h, unsigned bucket, unsigned share, int64_t wait_ms);

/* ---- the scanner ---- */

struct scanned_bucket;
struct shares_view;
struct waiters;

struct scanner {
    struct core *core;
    struct waiters *waiters; /* whose pops the scans bring */
    struct scanned_bucket *buckets;
    unsigned count;
    struct shares *shares; /* NULL: all topics are this node's, while a bucket is on */

    /* With shares: the node's name in the locks. It is drawn at random for the life of the
     * process: a lock of the node's previous process is another's. */
    char owner[SHARE_OWNER_LEN];
    int64_t doubted_until_mono_ms; /* until then this node's view may be old: another node had a
                                    * lock that was to be its own */
};

void scanner_init(struct scanner *s, struct core *core, struct waiters *waiters);
void scanner_fini(struct scanner *s);

/* The bucket is looked at now, and from now on. */
void scanner_begin(struct scanner *s, unsigned bucket);

/* No new scan starts; a scan in flight runs to its end. */
void scanner_end(struct scanner *s, unsigned bucket);
void scanner_end_all(struct scanner *s);

/* From now on, for good, only topics of the node's own shares are scanned. With each view all
 * buckets are looked at. */
void scanner_share(struct scanner *s, const struct shares_view *view);

/* A topic of the share has an event in `wait_ms`, of which the bucket's timer may not know: an
 * operation of this node made it (note), or another node has told of it (hear). */
void scanner_note(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms);
void scanner_hear(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms);

/* Does this node alone scan the share? Else other nodes must be told of its events. False, too,
 * for a lock's time after a scan that met a lock conflict. */
bool scanner_has(struct scanner *s, unsigned bucket, unsigned share);

#endif
