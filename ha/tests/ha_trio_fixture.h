/* The three nodes of ha_fixture.h by their roles: the first leader, and the two others. */
#ifndef DUEQ_HA_TESTS_HA_TRIO_FIXTURE_H
#define DUEQ_HA_TESTS_HA_TRIO_FIXTURE_H

#include "ha/tests/ha_fixture.h"

extern unsigned old, next, third;

int trio_setup(void **state);  /* three_nodes_setup(), then names the roles */
bool has_another_leader(void); /* than `old` */

/* The newest line of the history, as the leader sees it; until the next call. */
const struct ha_transition *newest_change(void);

#endif
