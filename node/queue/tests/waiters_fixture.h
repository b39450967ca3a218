/* What the tests of waiting consumers have in common.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_WAITERS_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_WAITERS_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"

extern struct fixture f;
extern struct consumer a, b;

int set_up(void **state); /* nobody waits yet */
int tear_down(void **state);

/* It was called back once, with this job first. */
void assert_got(const struct consumer *who, const char *id);

#endif
