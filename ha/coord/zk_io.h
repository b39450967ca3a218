/* A handle of ZooKeeper's single-threaded client on the node's own loop.
 *
 * On purpose without a thread: a node whose loop hangs stops sending, and loses its lead. The
 * library is asked what it waits for (zookeeper_interest), one event is armed for once, then it
 * is given what came (zookeeper_process); then all over again, because its descriptor may be
 * another one by then. What the library calls back it calls from both of these, in a turn of
 * the loop of its own.
 */
#ifndef DUEQ_HA_COORD_ZK_IO_H
#define DUEQ_HA_COORD_ZK_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

#include "base/loop.h"
#include "base/status.h"
#include "ha/coord/coordinator.h"

/* What is left of a connection after its session was closed: waits until the server hangs up.
 *
 * The library waits itself, blocking, for as long as the servers take to commit the end of a
 * session: a second and more when a quorum is slow. So its wait is cut short by shutting the
 * reading side, and the socket is kept open here instead. It must be: one that is closed with
 * unread bytes is reset, and the server may never come to read the good-bye.
 *
 * A server that has ended the session answers, and hangs up. The answer is the proof: one that
 * dies, or loses its quorum, hangs up as well. It is still read from here: what comes after the
 * reading side was shut is kept.
 */

struct zk_drain {
    struct loop *loop;
    int fd; /* -1: nothing */
    struct timer timer;
    int64_t until_mono_ms;
    /* `is_over`: the server has said that the session is; else it has hung up without a word,
     * or had not by the deadline, and nothing is known. Never from inside a call of this file;
     * may be NULL. */
    void (*on_end)(struct zk_drain *f, bool is_over);
};

void zk_drain_init(struct zk_drain *f, struct loop *loop,
                   void (*on_end)(struct zk_drain *f, bool is_over));

/* Without waiting, without on_end: what is under way is cut off. Harmless twice. */
void zk_drain_fini(struct zk_drain *f);

/* A copy of a connected socket, to be taken over by zk_drain_start(): before the library
 * closes its own, which it then does without waiting. A network that takes nothing now is shut
 * altogether, because the library would wait for seconds until it can send; then, or when
 * there is no descriptor, -1. */
int zk_drain_prepare(int fd);

/* After the library has closed its own; one that was under way is cut off. */
void zk_drain_start(struct zk_drain *f, int fd, int64_t patience_ms);
bool zk_drain_is_under_way(const struct zk_drain *f);

/* Where no loop turns any more: blocks until it is over, or for so long. */
void zk_drain_wait(struct zk_drain *f, int64_t ms);

struct event;

struct zk_io {
    struct loop *loop;
    zhandle_t *handle; /* NULL: stopped */
    struct event *event;
    struct timer timer;    /* ask now, or again */
    int fd;                /* of the event, -1: not connecting */
    bool is_inside;        /* the library calls back: it must not be stopped now */
    struct zk_drain drain; /* of the handle before */

    /* The last thing that went wrong, for people: "connection refused at 10.0.0.1:2181". Set
     * "" by whoever thinks it is over. */
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
void zk_io_init(struct zk_io *p, struct loop *loop,
                void (*on_drained)(struct zk_drain *f, bool is_over));

/* Stops, and waits for a good-bye that is under way for ZK_CLOSE_WAIT_MS at most. */
void zk_io_fini(struct zk_io *p);

/* IO_ERROR when the library takes no such target; `why` says why. */
enum status zk_io_start(struct zk_io *p, const struct zk_target *target) MUST_CHECK;

/* Other servers, while not connected. Nothing happens when they are the same. */
void zk_io_set_servers(struct zk_io *p, const char *servers);

/* A call was made: let the library send it. */
void zk_io_poke(struct zk_io *p);

/* Closes the handle, and with it a session that is connected. Ends all calls, from inside.
 * Harmless twice; must not be called from inside a callback of the library.
 *
 * Does not wait. True: the good-bye is on its way, and on_drained comes when the server has
 * ended the session (`is_over`), or has not within `patience_ms`. False: there was no session
 * to close, or nobody to tell it; it is left to expire. */
bool zk_io_stop(struct zk_io *p, int64_t patience_ms);

#endif
