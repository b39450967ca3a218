/* The coordinator port on ZooKeeper.
 *
 * Facts of the library, each of which has cost somebody a night:
 *   - a NULL completion aborts the process;
 *   - a session is over only when a server says so; the handle is kept until then;
 *   - the library resolves names by blocking at each attempt to connect, so it gets addresses
 *     only (resolve.h finds them);
 *   - all watches use the one watcher of the handle, which hears each notice of the session
 *     once; a watcher for each znode would hear them all again.
 *
 * A server never refuses digest credentials: they open a znode, or calls end COORD_DENIED.
 * Znodes that are created with `auth` are for its user alone.
 */
#ifndef DUEQ_HA_COORD_ZK_CLIENT_H
#define DUEQ_HA_COORD_ZK_CLIENT_H

#include "ha/coord/coordinator.h"

struct loop;

struct zk_options {
    const char *servers; /* "host:port,host:port"; names are looked up without blocking */
    const char *auth;    /* "user:password", or "": open to all */
    int64_t session_ms;  /* asked of the servers; they grant what they want */
};

/* Texts are borrowed for the coordinator's life. coordinator_close() never waits. */
struct coordinator *zk_coordinator_new(const struct zk_options *options, struct loop *loop);

/* For the end of the process, when the loop does not run any more: blocks for some 100 ms while
 * a session is being closed. After all calls have ended; NULL is fine. */
void zk_coordinator_free(struct coordinator *c);

#endif
