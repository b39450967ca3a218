/* A Redis with a store on it, for tests of what happens when the Redis misbehaves. */
#ifndef DUEQ_NODE_STORE_REDIS_TESTS_STORE_FIXTURE_H
#define DUEQ_NODE_STORE_REDIS_TESTS_STORE_FIXTURE_H

#include "base/tests/unit.h"
#include "node/store/redis/tests/server_fixture.h"
#include "node/store/redis/store.h"

/* A store on a Redis, and what it said. The flags are for run_until(). */
struct node {
    struct redis_fixture *redis;
    struct loop *loop;
    struct redis_store *store;
    struct redis_store_options options; /* to be changed before node_start() */
    int ups, downs, olders, wakeups;
    bool is_up, is_down, is_woken, is_refused, is_stopped;
    bool has_bare; /* what it answers the store */
    char why[512];
};

/* cmocka's: *state is a node on a fresh Redis, not started. */
int node_set_up(void **state);
int node_tear_down(void **state);

#define WITH_REDIS(test) cmocka_unit_test_setup_teardown(test, node_set_up, node_tear_down)

void node_init(struct node *n, struct redis_fixture *redis);
void node_fini(struct node *n); /* of node_init() alone; it was started */
void node_start(struct node *n);
void node_start_up(struct node *n);  /* and it is up */
void node_come_back(struct node *n); /* it is down, and then up */

/* Its Redis answers nothing, until it goes on. */
void node_freeze(struct node *n);
void node_thaw(struct node *n);

const struct redis_store_stats *stats(const struct node *n);

/* Runs the loop until the store's why has this word in it. */
void run_until_why(struct node *n, const char *word);

/* Sets is_stopped. */
void node_stop(struct node *n);

/* ---- operations ---- */

struct job_op {
    struct op op;
    bool is_done;
    int turn; /* in which it was done, counted from 1 in `turns`, which may be NULL */
    int *turns;
    char id[64]; /* of a push */
};

/* The op's inputs are set. */
void submit_op(struct node *n, struct job_op *j, enum op_verb verb, const char *topic);

/* Pushes a job that is due at once; `turns` stays. */
void submit_push(struct node *n, struct job_op *j, const char *topic);
void submit_stats(struct node *n, struct job_op *j, const char *topic);

/* Of one job, which must be there. */
struct popped {
    struct job_op pop;
    char id[64];
    struct bytes id_bytes;
    int64_t stamp;
};

void submit_pop_one(struct node *n, struct popped *p, const char *topic);

/* By the lease of what was popped from topic "t". */
void submit_of_lease(struct node *n, struct job_op *j, enum op_verb verb,
                     const struct popped *p);

/* Returns its status when it is answered. */
enum status await(struct node *n, struct job_op *j);

/* The same, and pop all there is, with the answer awaited. */
enum status push(struct node *n, struct job_op *j, const char *topic);
enum status pop(struct node *n, struct job_op *j, const char *topic, unsigned *count);
void push_well(struct node *n, const char *topic);
struct topic_stats stats_of(struct node *n, const char *topic);

/* For the tear-down of a test that has stopped its store. */
void node_renew(struct node *n);

#endif
