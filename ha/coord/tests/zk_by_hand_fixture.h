/* A ZooKeeper server that a test plays by hand, on the test's own loop: it accepts clients,
 * grants sessions, and goes away when the test says so. It has no clock. */
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

/* Waits for a client and its request. Returns the connection, which the caller closes. */
int zk_by_hand_accept(struct zk_by_hand *z);

/* Grants the client that session, for `timeout_ms`; 0: says that the session is over. */
void zk_by_hand_grant(int client, int64_t session, uint32_t timeout_ms);

/* Waits until something can be read. */
void zk_by_hand_wait(struct zk_by_hand *z, int fd);

#endif
