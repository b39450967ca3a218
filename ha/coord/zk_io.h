/* A handle of ZooKeeper's single-threaded client on the node's own loop.
 *
 * On purpose without a thread: a node whose loop hangs stops sending, and loses its lead. In
 * each round zookeeper_interest() says what the library waits for, one event is armed once, and
 * zookeeper_process() gets the outcome. Every round asks anew, because the descriptor may
 * change. The library calls back from inside these two functions, in a turn of the loop of its
 * own.
 */
#ifndef DUEQ_HA_COORD_ZK_IO_H
#define DUEQ_HA_COORD_ZK_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

#include "base/loop.h"
#include "base/status.h"
#include "ha/coord/coordinator.h"

/* The rest of a connection after its session was closed: waits until the server hangs up.
 *
 * The library would block for as long as the servers take to commit the end of a session: a
 * second and more when a quorum is slow. So the reading side is shut, which cuts the library's
 * wait short, and a copy of the socket is kept open here. Without the copy, closing the socket
 * with unread bytes would reset the connection, and the server might never read the good-bye.
 *
 * A server that has ended the session answers and hangs up. The answer is the proof, because a
 * server that dies or loses its quorum hangs up as well. The answer can still be read here: the
 * kernel keeps bytes that come after the reading side was shut.
 */

struct zk_drain {
    struct loop *loop;
    int fd; /* -1: nothing */
    struct timer timer;
    int64_t until_mono_ms;
    /* `is_over`: the server has confirmed the end of the session. False: it has hung up without
     * an answer, or the deadline came, and nothing is known. Never from inside a call of this
     * file; may be NULL. */
    void (*on_end)(struct zk_drain *f, bool is_over);
};

void zk_drain_init(struct zk_drain *d, struct loop *loop,
                   void (*on_end)(struct zk_drain *d, bool is_over));

/* Returns a copy of a connected socket for zk_drain_start(). To be called before the library
 * closes its own socket, which then does not block. If the network takes no bytes now, the
 * socket is shut altogether, because the library would wait for seconds to send; returns -1
 * then, and when there is no descriptor. */
int zk_drain_prepare(int fd);

/* Takes `fd` over, after the library has closed its socket; cuts off a connection under way. */
void zk_drain_start(struct zk_drain *d, int fd, int64_t patience_ms);

/* For a process whose loop does not run any more: blocks until the end, or for `ms`, and cuts
 * the connection off, without on_end. Harmless twice. */
void zk_drain_wait(struct zk_drain *d, int64_t ms);

struct event;

struct zk_io {
    struct loop *loop;
    zhandle_t *handle; /* NULL: stopped */
    struct event *event;
    struct timer timer;    /* the next round */
    int fd;                /* of the event, -1: not connecting */
    bool is_inside;        /* the library calls back: it must not be stopped now */
    struct zk_drain drain; /* of the handle before */

    /* The last error, for people: "connection refused at 10.0.0.1:2181". The owner sets "" when
     * it is over. */
    char why[128];
};

struct zk_target {
    const char *servers; /* "address:port,..."; a name would make the library block */
    int64_t session_ms;
    const struct coord_credentials *resume; /* a session to take over, or NULL */
    watcher_fn on_watch;
    void *context; /* of on_watch */
};

/* `on_drained`: see zk_io_stop(); or NULL. */
void zk_io_init(struct zk_io *io, struct loop *loop,
                void (*on_drained)(struct zk_drain *d, bool is_over));

/* Stops; blocks for at most ZK_CLOSE_WAIT_MS while a session is being closed. */
void zk_io_fini(struct zk_io *io);

/* IO_ERROR: the library refuses the target; `why` says why. */
enum status zk_io_start(struct zk_io *io, const struct zk_target *target) MUST_CHECK;

/* Changes the servers while not connected. Does nothing when they are the same. */
void zk_io_set_servers(struct zk_io *io, const char *servers);

/* To be called after a call was made: lets the library send it. */
void zk_io_poke(struct zk_io *io);

/* Closes the handle, and a connected session with it. Ends all calls from inside this function.
 * Does not wait. Harmless twice; must not be called from inside a callback of the library.
 *
 * True: the session is being closed; on_drained comes when the server has ended it (`is_over`),
 * or after `patience_ms`. False: there was no session, or no server to close it; the session is
 * left to expire. */
bool zk_io_stop(struct zk_io *io, int64_t patience_ms);

#endif
