/* Tests of the contract that need a hand on Redis itself. */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_H

#include "node/store/contract.h"
#include "node/store/redis_fixture.h"

extern const struct contract_part contract_redis, contract_twins;

/* Before each of them: where the store under test keeps its keys. Both are borrowed. */
void contract_redis_begin(struct redis_fixture *fixture, const char *key_prefix);

/* After each: prints what the twins did last, if a difference has ended them. */
void contract_twins_end(void);

#endif
