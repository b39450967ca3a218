/* Have Redis and the store in memory given the same answer? */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_SAME_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_SAME_H

#include "node/store/contract/contract.h"

/* Compares two answered operations with the same inputs: status, clock, wait and outputs, to
 * the last stamp; the test fails where they differ. Only the order in which a scan found jobs
 * of the same millisecond is each store's own. */
void assert_same_answer(const struct op *redis, const struct op *memory);

#endif
