/* Two nodes that scan TOPIC's bucket, each its own topics, for tests of locks. */
#ifndef DUEQ_NODE_STORE_CONTRACT_LOCKS_TWO_H
#define DUEQ_NODE_STORE_CONTRACT_LOCKS_TWO_H

#include "node/store/contract/locks.h"

extern struct sharer a, b; /* node-a and node-b */

void be_two(char mark_of_a, uint64_t view_of_a, char mark_of_b, uint64_t view_of_b);

/* The scan runs at once, and well. */
struct op scan_by(struct sharer *s);
struct op scan_by_at_most(struct sharer *s, unsigned limit);

/* Does the sharer's scan move a due job of TOPIC? */
bool moves(struct sharer *s);

void assert_locked(struct bytes topic, const struct sharer *s, uint64_t view);
void assert_unlocked(struct bytes topic);
void assert_taken(struct op op, unsigned taken, unsigned over, unsigned late);
void assert_moved(struct op op, unsigned moved, unsigned taken, unsigned over, unsigned late);

#endif
