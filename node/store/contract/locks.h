/* Nodes that scan each its own topics, for tests. */
#ifndef DUEQ_NODE_STORE_CONTRACT_LOCKS_H
#define DUEQ_NODE_STORE_CONTRACT_LOCKS_H

#include "node/store/contract/contract.h"

#define LATE_MS (2 * FAR_MS) /* nothing is */

extern const struct contract_part contract_locks_redis, contract_locks_chance;

struct sharer {
    const char *name; /* the node's */
    char marks[SHARES];
    struct scan_share share; /* locks last FAR_MS, nothing is late */
};

/* The sharer has this mark for all shares; `owner` is borrowed. */
void sharer_init(struct sharer *s, const char *name, const char *owner, char mark,
                 uint64_t view);
void sharer_mark(struct sharer *s, struct bytes topic, char mark);

/* A scan of TOPIC's bucket; borrows from `s`. */
struct op sharer_scan_op(const struct sharer *s);

/* A job of the topic that is due now. */
void let_due(struct bytes topic, const char *id);

/* The topic has a job. */
struct topic_lock lock_of(struct bytes topic);

/* The next name, from this number on, of a topic in TOPIC's bucket: at most CROWD_MAX. */
#define CROWD_MAX 2200
struct bytes crowd_name(unsigned *number);

/* So many hundreds of such topics, from that number on, each with a delayed job. Returns the
 * last one's due.
 */
int64_t crowd(unsigned count, unsigned number, int64_t delay_ms);

#endif
