/* A Redis Cluster of real servers whose slots the test moves, with a store on it. */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_CLUSTER_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_CLUSTER_FIXTURE_H

#include "node/store/redis/tests/store_fixture.h"

#define CLUSTER_MASTERS 3
#define CLUSTER_SERVERS (CLUSTER_MASTERS + 1) /* the last has no slots */

/* One for all tests of a program: they take seconds to find each other. */
struct cluster {
    struct redis_fixture *servers[CLUSTER_SERVERS];
    char ids[CLUSTER_SERVERS][48];
    unsigned owner[16384]; /* of a slot: an index of servers */
    char address[256];
};

extern struct cluster cluster;

/* cmocka's, of the group: all slots are somewhere, and all servers know it. */
int cluster_set_up(void **state);
int cluster_tear_down(void **state);

/* cmocka's, of a test: *state is a node, not started, and there is no key. */
int cluster_node_set_up(void **state);

#define WITH_CLUSTER(test) \
    cmocka_unit_test_setup_teardown(test, cluster_node_set_up, node_tear_down)

/* The server that has the bucket; a topic that is in it. */
struct redis_fixture *cluster_owner(unsigned bucket);
const char *cluster_topic(unsigned bucket);

/* All of the bucket's slot, to that server, in three steps. */
void cluster_begin_move(unsigned bucket, unsigned to);
void cluster_move_keys(unsigned bucket, unsigned to, unsigned max);
void cluster_end_move(unsigned bucket, unsigned to);

/* Until the bucket's master says that the Redis Cluster is down. */
void cluster_wait_down(unsigned bucket);

/* The server without slots becomes a replica, and has all. It takes its
 * master's place, which is the one without slots from then on: "" in agreement with it;
 * "TAKEOVER" whatever it says. */
void cluster_replicate(unsigned server);
void cluster_promote(unsigned server, const char *how);

/* Runs the loop until all buckets, or that one, are reached. */
void run_until_reached(struct node *n);
void run_until_bucket(struct node *n, unsigned bucket, bool wanted);

#endif
