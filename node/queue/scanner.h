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
 * An operation that creates an earlier event says so in its answer (op.wait_ms) and the queue
 * passes it on as a hint, from other nodes by way of the store. A hint that comes while the
 * bucket is being scanned is kept, because the scan may have looked before it; and another
 * node's until its time has come, share by share, because that node counts on a scan then
 * (scanner.h), whatever else was to be scanned before.
 *
 * Where all nodes scan, each brings the marks of its shares (scanner.h), and hints of other
 * nodes' topics arm no timer here. Else the node is asked before each scan whether it may act;
 * where it may not, nothing is sent. After that, and after a scan that failed, the bucket rests
 * for a second at most; at first for some milliseconds only.
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

/* Tells the node that scans a topic of its next event, by way of the store.
 *
 * What is so far away that a safety scan comes before it, that scan finds. And who has been
 * told of an event that is still to come scans then, and sees what came in meanwhile: one that
 * is not earlier needs no word. So there is one hint on its way for each share of a bucket, or,
 * where one node scans all, for each bucket: by share it would tell 60 times as often, of
 * 10,000 pushes a second that are due in 500 ms. (So what is pushed through a node that stands
 * by may be a second late while a cluster is changed to one in which all scan.)
 */

struct core;

struct hints {
    struct core *core;
    bool are_shared;       /* each share of a bucket has its own scanner */
    int64_t *said_mono_ms; /* when the event is that was told last */
};

void hints_init(struct hints *h, struct core *core);
void hints_fini(struct hints *h);

/* From now on; or who scans what has changed: what was said may have been said to others. */
void hints_share(struct hints *h);

/* A topic of that share has its first event in `wait_ms`. */
void hints_tell(struct hints *h, unsigned bucket, unsigned share, int64_t wait_ms);

/* What this node's scans bring in a cluster in which all nodes scan (doc/cluster.md): the marks
 * of its shares, as they are when the scan is sent, and its name in the locks.
 *
 * The name is drawn at random for the life of the process: a lock of the process before, on the
 * same node, is another's.
 */

struct core;
struct queue_stats;
struct sharing_scan;

struct sharing {
    struct core *core;
    struct shares *shares;
    char owner[SHARE_OWNER_LEN];
    struct sharing_scan *scans; /* one a bucket */
};

struct core;
struct scanned_bucket;
struct shares_view;
struct sharing;

struct scanner {
    struct core *core;
    struct scanned_bucket *buckets;
    unsigned count;
    struct sharing *sharing;       /* NULL: all topics are this node's, while a bucket is on */
    int64_t doubted_until_mono_ms; /* another node had a lock that was to be this node's: its
                                    * view may be old */
};

void scanner_init(struct scanner *s, struct core *core);
void scanner_fini(struct scanner *s);

/* The bucket is looked at now, and from now on. */
void scanner_begin(struct scanner *s, unsigned bucket);

/* No new scan starts; one in flight ends as it ends. */
void scanner_end(struct scanner *s, unsigned bucket);
void scanner_end_all(struct scanner *s);

/* From now on, for good: only topics of its own shares. A view; all buckets are looked at. */
void scanner_share(struct scanner *s, const struct shares_view *view);

/* A topic of that share has an event in `wait_ms`, of which the bucket's timer may not know:
 * one that an operation of this node made, or of which another node has told. */
void scanner_note(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms);
void scanner_hear(struct scanner *s, unsigned bucket, unsigned share, int64_t wait_ms);

/* Is the topic this node's alone to look at? Else others are to be told of its events: so also
 * for a lock's time after a scan that met a lock conflict. */
bool scanner_has(struct scanner *s, unsigned bucket, unsigned share);

#endif
