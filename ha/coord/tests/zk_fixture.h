/* Real ZooKeeper servers for tests: one alone or an ensemble of three, on loopback, in a
 * directory of their own. They end with the test process, however that ends.
 *
 * A function that fails ends the process with a message on standard error.
 */
#ifndef DUEQ_HA_COORD_TESTS_ZK_FIXTURE_H
#define DUEQ_HA_COORD_TESTS_ZK_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"

#define ZK_SERVERS_MAX 3
#define ZK_PATIENCE_S  60 /* then SIGALRM ends a process that still waits */
#define ZK_TICK_MS     500

struct zk_fixture {
    char dir[64];
    unsigned count;
    struct zk_server {
        int ports[3]; /* clients, quorum, election */
        pid_t pid;    /* 0: does not run */
    } servers[ZK_SERVERS_MAX];
    char addresses[96]; /* of all, for clients */
};

/* Starts `count` servers, and waits until they serve. Sessions of 1 to 60 s. */
struct zk_fixture *zk_fixture_new(unsigned count);
void zk_fixture_free(struct zk_fixture *f); /* NULL is fine */

void zk_fixture_kill(struct zk_fixture *f, unsigned i);  /* SIGKILL */
void zk_fixture_start(struct zk_fixture *f, unsigned i); /* again, on the same data */
void zk_fixture_wait(struct zk_fixture *f);              /* until all that run serve */
void zk_fixture_freeze(struct zk_fixture *f, unsigned i, bool is_frozen);

/* Which server has this address; fails if none has. */
unsigned zk_fixture_find(const struct zk_fixture *f, const char *address);

/* Breaks this process's connections to the servers; answers not read yet are lost with them. */
void zk_fixture_cut(struct zk_fixture *f);

/* Have answers come that this process has not read yet? */
bool zk_fixture_has_answered(struct zk_fixture *f);

#endif
