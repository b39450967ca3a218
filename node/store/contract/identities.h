/* Identities in the bucket of TOPIC: the steps of their tests. */
#ifndef DUEQ_NODE_STORE_CONTRACT_IDENTITIES_H
#define DUEQ_NODE_STORE_CONTRACT_IDENTITIES_H

#include "node/store/contract/contract.h"

extern const struct contract_part contract_identities, contract_identities_redis;

/* Whatever was expected, with an id of its own; "" revokes. Texts are borrowed. */
struct op identify_op(const char *name, const char *line);
struct op heal_op(const char *name, const char *line, int64_t as);

/* Successful; the identity's version. */
int64_t identify(const char *name, const char *line);
int64_t heal(const char *name, const char *line, int64_t as);

/* All of them, as told to a caller that has read nothing. */
struct op identities(void);

/* What is told of this one now; NULL: nothing. Until the test is over. */
const struct identity_row *identity_named(const char *name);

/* How often one was said to have changed; waits for what is on its way. */
unsigned identities_heard(void);

/* The same as identity_named(); it is as said. */
void assert_identity(const char *name, int64_t version, const char *line);

#endif
