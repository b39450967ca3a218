/* Engines that share a store's topics. Time passes for all alike, but for those that are
 * frozen. Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_SHARING_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_SHARING_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"
#include "node/queue/shares.h"

#define BUCKETS 4
#define NODES   3
#define LOCK_MS 5000
#define LATE_MS 1000 /* then others take a topic, */
#define SAFE_MS 1000 /* and find it with the next safety scan */

enum { A, B, C };

extern struct fixture base; /* whose store it is; it does nothing */
extern struct fixture nodes[NODES];
extern bool are_frozen[NODES];

int set_up(void **state); /* nobody has seen a view */
int tear_down(void **state);

/* `names` are nodes' letters, "ac". */
void see(unsigned node, uint64_t number, const char *names);
void all_see(uint64_t number, const char *names);

void turn(void);
void pass(int64_t ms);
void thaw(unsigned node);

/* `count` jobs, pushed by all nodes, each in one of as many topics, due one after the other
 * within `ms`. The next call's topics are the same. */
void push_round(unsigned count, int64_t ms);

/* The node's share of these topics: those that it owns in its view. */
unsigned owned(unsigned node, unsigned count);

/* By all nodes. */
uint64_t moved(void);
int64_t latest(void); /* so many ms late was the latest */
uint64_t moved_by(unsigned node);

/* What the nodes asked of the store. */
unsigned long scans_of(unsigned node);

#endif
