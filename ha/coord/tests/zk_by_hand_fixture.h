/* A ZooKeeper server that a test plays by hand, on the test's own loop: it takes clients, lets
 * them have a session, and goes when the test says so. No time passes in it. */
#ifndef DUEQ_HA_COORD_TESTS_ZK_BY_HAND_FIXTURE_H
#define DUEQ_HA_COORD_TESTS_ZK_BY_HAND_FIXTURE_H

#include <stdint.h>

#include "base/loop.h"

struct zk_by_hand {
    struct loop *loop;
    int fd;           /* listens */
    char address[32]; /* for clients */
    /* What the newest client asked for. */
    uint32_t asked_ms;
    int64_t asked_session; /* 0: a new one */
};

void zk_by_hand_start(struct zk_by_hand *z, struct loop *loop);
void zk_by_hand_stop(struct zk_by_hand *z);

/* Waits for a client, and for what it asks. Returns its connection, the caller's to close. */
int zk_by_hand_accept(struct zk_by_hand *z);

/* Lets it have that session, for `timeout_ms`; 0: there is none, it is over. */
void zk_by_hand_grant(int client, int64_t session, uint32_t timeout_ms);

/* Waits until something can be read. */
void zk_by_hand_wait(struct zk_by_hand *z, int fd);

#endif
