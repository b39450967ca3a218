/* What decides who scans a topic (doc/cluster.md), as bytes: a node's share on its way to
 * scan.lua, and a topic's lock on its way back. Pure.
 */
#ifndef DUEQ_NODE_STORE_REDIS_LOCKS_H
#define DUEQ_NODE_STORE_REDIS_LOCKS_H

#include "node/store/op.h"

/* View and owner as a lock has them, how long it lasts, from when on a topic is late, marks.
 * More than OP_TOKEN_MAX: the script tells it from a token by its length. */
#define SHARE_BYTES (16 + SHARE_OWNER_LEN + 6 + 6 + SHARES)

/* Writes SHARE_BYTES. */
void share_pack(const struct scan_share *share, char *to);

/* Nobody's where it is "", over by `now_ms`, or not ours. The node's name is borrowed from
 * `packed`. */
struct topic_lock lock_unpack(struct bytes packed, int64_t now_ms);

#endif
