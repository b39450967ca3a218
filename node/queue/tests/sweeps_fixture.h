/* What the tests of sweeps have in common: a topic full of jobs, and brooms.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_SWEEPS_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_SWEEPS_FIXTURE_H

#include "node/queue/tests/queue_fixture.h"
#include "node/queue/sweeps.h"

#define ALL_STATES (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

extern struct fixture f;

/* A sweep and what came of it. */
struct broom {
    struct sweep sweep;
    unsigned done;
    enum status status;
    uint64_t count;
    bool has_more;
};

int set_up(void **state);
int tear_down(void **state);

void on_swept(struct sweep *sweep);

/* Of topic t; `sweep` until it is done, `begin_slowly` on a store that takes 30 ms for the
 * first chunk of a purge. */
void begin(struct broom *broom, enum op_verb verb, unsigned states);
void begin_slowly(struct broom *broom);
void sweep(struct broom *broom, enum op_verb verb, unsigned states);

void push_many(unsigned count, int64_t delay_ms);
void bury_many(unsigned count);
struct call stats(void); /* of topic t */

#endif
