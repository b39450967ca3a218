/* What the tests of deliveries have in common: those who follow, and somebody who consumes.
 * Include after cmocka's headers. */
#ifndef DUEQ_NODE_QUEUE_TESTS_FEED_FIXTURE_H
#define DUEQ_NODE_QUEUE_TESTS_FEED_FIXTURE_H

#include "node/queue/feed.h"
#include "node/queue/tests/queue_fixture.h"

extern struct fixture f;
extern struct consumer c;

/* A follow and what it was shown. */
struct follower {
    struct follow follow;
    unsigned done;
    unsigned count;
    int64_t seqs[16];
    char ids[16][16];
    struct feed_item last;
    char topic[32], client[80];
    struct follow *cancels; /* another one, when it is called back */
};

int set_up(void **state);
int tear_down(void **state);

void follow(struct follower *w, int64_t wait_ms);
void follow_on(struct follower *w, int64_t wait_ms); /* from where the last answer ended */

/* Pushed, and handed to `c` at once. */
void hand_out(const char *topic, const char *id);

#endif
