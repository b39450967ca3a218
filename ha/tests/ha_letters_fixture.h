/* The links between the nodes of ha_fixture.h: a question is a letter, and so is a promise. A
 * letter arrives in the millisecond after it was sent; one to a frozen node waits for it, one
 * to or from a dead or silent node is lost.
 */
#ifndef DUEQ_HA_TESTS_HA_LETTERS_FIXTURE_H
#define DUEQ_HA_TESTS_HA_LETTERS_FIXTURE_H

#include "ha/peer/peers.h"

extern const struct peers_ops letters_ops; /* of nodes[].peers */

void letters_init(void);
void letters_fini(void);
void letters_deliver(void); /* those that were under way when this millisecond began */

#endif
