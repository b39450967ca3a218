/* Which topic a node may scan where many do: the rule of doc/cluster.md, and the locks. */
#ifndef DUEQ_NODE_STORE_MEMORY_LOCKS_H
#define DUEQ_NODE_STORE_MEMORY_LOCKS_H

#include "node/store/memory/ops.h"

/* What the scan's share says of a topic that is due. From HELD on: it moves. */
enum claim {
    CLAIM_NONE,
    CLAIM_CONFLICT, /* its own, but another has the lock */
    CLAIM_HELD,     /* as the lock is */
    CLAIM_RENEW,
    CLAIM_TAKE, /* nobody has it */
    CLAIM_TAKE_OVER,
    CLAIM_STEAL,
};

enum claim memory_lock_claim(const struct call *c, const struct topic *topic);

/* Behind the scan of all topics: the lock is taken or renewed, and counted. A topic that has
 * come to its end has none. */
void memory_lock_settle(struct call *c, struct topic *topic, enum claim claim);

/* Is it a topic whose events the node is to wait for? */
bool memory_lock_expects(const struct call *c, const struct topic *topic);

/* For people; the node's name is in the room. */
struct topic_lock memory_lock_tell(const struct call *c, const struct topic *topic);

#endif
