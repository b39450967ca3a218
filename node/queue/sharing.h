/* What this node's scans bring in a cluster in which all nodes scan (doc/cluster.md): the marks
 * of its shares, as they are when the scan is sent, and its name in the locks.
 *
 * The name is drawn at random for the life of the process: a lock of the process before, on the
 * same node, is another's.
 */
#ifndef DUEQ_NODE_QUEUE_SHARING_H
#define DUEQ_NODE_QUEUE_SHARING_H

#include "node/queue/shares.h"
#include "node/store/op.h"

#define SHARING_LATE_MS 1000 /* then another's topic is taken, */
#define SHARING_REST_MS \
    1000 /* and found by a safety scan: at most so long apart, on all nodes */

struct core;
struct queue_stats;
struct sharing_scan;

struct sharing {
    struct core *core;
    struct shares *shares;
    char owner[SHARE_OWNER_LEN];
    struct sharing_scan *scans; /* one a bucket */
};

struct sharing *sharing_new(struct core *core);
void sharing_free(struct sharing *s); /* NULL is fine */

void sharing_see(struct sharing *s, const struct shares_view *view);

/* Sets in.scan.share, which is borrowed until the next call for this bucket. */
void sharing_mark(struct sharing *s, struct op *scan);

/* The share's mark, now. */
char sharing_mark_of(struct sharing *s, unsigned bucket, unsigned share);

/* What a scan that ended well says of locks. */
void sharing_count(struct queue_stats *stats, const struct op *scan);

#endif
