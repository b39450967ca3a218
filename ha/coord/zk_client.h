/* The coordinator port on ZooKeeper.
 *
 * Facts of the library it respects, each of which has cost somebody a night: a NULL completion
 * aborts the process; a session is over only when a server says so, and the handle is kept
 * until then; the library resolves names by blocking, at each attempt to
 * connect, so it only ever gets addresses (resolve.h finds them); all watches are those of the
 * one watcher of the handle, which hears each notice of the session once, while a watcher of
 * its own for each znode would hear it too.
 *
 * Digest credentials are never refused by a server, they open a znode or do not: then calls end
 * COORD_DENIED. Znodes that are created with `auth` are for its user alone.
 */
#ifndef DUEQ_HA_COORD_ZK_CLIENT_H
#define DUEQ_HA_COORD_ZK_CLIENT_H

#include <zookeeper/zookeeper.h>

#include "base/timer.h"
#include "ha/coord/coordinator.h"

struct loop;

struct zk_options {
    const char *servers; /* "host:port,host:port"; names are looked up without blocking */
    const char *auth;    /* "user:password", or "": open to all */
    int64_t session_ms;  /* asked of the servers; they grant what they want */
};

/* Texts are borrowed for its life. Closing it (see coordinator_close) never waits. */
struct coordinator *zk_coordinator_new(const struct zk_options *options, struct loop *loop);

/* After all calls have ended, and not from inside a callback; NULL is fine. What is still being
 * closed is waited for, some 100 ms: it is for when the loop has ended. */
void zk_coordinator_free(struct coordinator *c);

/* For a process that has no loop and nothing else to do, such as a child of the warden: ends
 * the session of a process that is proven dead. Returns 0 when it is over, also when it was
 * before; 1 when the deadline came first. */
int zk_end_session_run(const char *servers, const struct coord_credentials *whose,
                       int64_t deadline_ms);

/* The calls of the port in the words of ZooKeeper's client, and its answers in ours.
 *
 * Here every call ends: from inside zookeeper_interest() or zookeeper_process() when a server
 * answers or the connection is lost; in a later turn when it could not begin, or the handle
 * is closed.
 */

struct zk_calls {
    struct coordinator *coordinator; /* on_change */
    zhandle_t *handle;               /* NULL: calls end UNAVAILABLE */
    const struct ACL_vector *acl;    /* of what is created */
    struct later ended;
};

#endif
