/* Which topics this node scans in a cluster in which all nodes do: doc/cluster.md. Pure.
 *
 * From a view (who scans, and its number) to a mark for each share of each bucket, by
 * rendezvous hashing: of the view's nodes the one with the highest score for a share is
 * preferred. Scores are the same on all nodes and in all versions, and do not depend on the
 * order of the names.
 *
 * The marks of a bucket are made when they are first asked for in a view. A view in which
 * nobody asks about a bucket does not count for that bucket: a node that does not scan a bucket
 * takes no locks there. So a share is kept from the end of the last view in which it was marked
 * as own.
 */
#ifndef DUEQ_NODE_QUEUE_SHARES_H
#define DUEQ_NODE_QUEUE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/share.h"

#define SHARES_NODES_MAX 65 /* nodes of a cluster (ha/peer/peers.h) */

struct shares_view {
    uint64_t number;           /* 0: none was seen yet */
    const struct bytes *nodes; /* names, in any order, each once */
    unsigned count;
};

struct shares;

/* `self` is copied. Until the first shares_see() all shares are the others'. `lock_ms`: how
 * long shares that were given away are kept. */
struct shares *shares_new(unsigned buckets, struct bytes self, int64_t lock_ms);
void shares_free(struct shares *s); /* NULL is fine */

/* The names are copied; of too many the first SHARES_NODES_MAX by name count. An older view is
 * taken, too: ZooKeeper may have been set up anew. */
void shares_see(struct shares *s, const struct shares_view *view, int64_t now_mono_ms);

uint64_t shares_number(const struct shares *s);
bool shares_have(const struct shares *s, struct bytes node); /* is it in the view? */

/* SHARES marks, as of now; borrowed until the next call of shares_see() or shares_marks(). */
struct bytes shares_marks(struct shares *s, unsigned bucket, int64_t now_mono_ms);

/* The mark of one share. */
char shares_mark(struct shares *s, unsigned bucket, unsigned share, int64_t now_mono_ms);

/* The node that has the share by the view; "" in an empty view. Borrowed until the next
 * shares_see(). */
struct bytes shares_preferred(const struct shares *s, unsigned bucket, unsigned share);

/* How many shares of all buckets are this node's; for metrics, and slow. */
unsigned shares_own_count(struct shares *s);

/* A node's score for a share: a hash of the name (64-bit FNV-1a) stirred together with the
 * share's number in all buckets (the finalizer of splitmix64). */
uint64_t shares_score(struct bytes node, unsigned bucket, unsigned share);

#endif
