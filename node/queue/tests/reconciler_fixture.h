/* What the tests of the reconciler have in common: an engine that has none, and a reconciler
 * that has no engine, on one store; each with its own port to it. Include after cmocka's
 * headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_RECONCILER_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_RECONCILER_FIXTURE_H

#include "node/queue/core.h"
#include "node/queue/tests/queue_fixture.h"
#include "node/queue/reconciler.h"

#define BUCKETS 4
#define LOOKED  (RECONCILER_START_MS + 1000) /* a small store has been looked through */

extern struct fixture f;
extern struct memory_store *its_store;
extern struct core core;
extern struct reconciler r;

int set_up(void **state); /* it may work */
int tear_down(void **state);

/* A healthy job; and one whose value is gone, while its place still names it. */
void push_one(const char *topic, const char *id);
void lose(const char *topic, const char *id);

/* What the reconciler asked of its store; and what it mended of what lose() left. */
unsigned long count(enum op_verb verb);
uint64_t repaired(void);

/* Time passes until it is in the state: with an operation on its way, whose answer is held. */
void wait_until_it_is(enum reconciler_state state);

#endif
