/* What the tests of deliveries have in common: an active engine, and two consumers.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_DELIVERIES_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_DELIVERIES_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"

extern struct fixture f;
extern struct consumer a, b;

int set_up(void **state);
int tear_down(void **state);

/* What the consumer does with the first job that it got, of topic t. */
enum status settle(enum op_verb verb, const struct consumer *c);

/* Operations that the store was sent. */
unsigned long keeps(void);
unsigned long confirmations(void);

#endif
