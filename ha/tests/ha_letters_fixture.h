/* The links between the nodes of ha_fixture.h: questions and promises are letters. A letter
 * arrives in the millisecond after it was sent. A letter to a frozen node waits; a letter to or
 * from a dead or silent node is lost.
 */
#ifndef DUEQ_HA_TESTS_HA_LETTERS_FIXTURE_H
#define DUEQ_HA_TESTS_HA_LETTERS_FIXTURE_H

#include "ha/peer/peers.h"

extern const struct peers_ops letters_ops; /* of nodes[].peers */

void letters_init(void);
void letters_fini(void);
void letters_deliver(void); /* the letters sent before this millisecond */

#endif
