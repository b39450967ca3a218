/* What the tests of the census have in common: an engine, and those who ask it.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_CENSUS_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_CENSUS_FIXTURE_H

#include "node/queue/census.h"
#include "node/queue/tests/queue_fixture.h"

#define FRESH_MS 5000

extern struct fixture f;

/* A call and what it was told. */
struct asked {
    struct census_call call;
    unsigned done;
    enum status status;
    bool has_census;
    struct census census;
    char first[32];
    int64_t first_delayed;
    bool asks_again;
};

int set_up(void **state);
int set_up_wide(void **state); /* more buckets than are walked through at a time */
int tear_down(void **state);

void on_asked(struct census_call *call);
void ask(struct asked *a, int64_t wait_ms);
void ask_and_turn(struct asked *a); /* and it is answered */

/* Of the store: walks that were begun, and pages of topics. */
uint64_t walks(void);
unsigned long pages(void);

#endif
