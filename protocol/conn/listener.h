/* Accepts clients on a listening socket that somebody else has bound.
 *
 * The warden binds the sockets and keeps them open, so that a client that comes while the
 * worker restarts waits in the kernel's queue and is not refused.
 */
#ifndef DUEQ_PROTOCOL_CONN_LISTENER_H
#define DUEQ_PROTOCOL_CONN_LISTENER_H

#include "base/loop.h"

/* The kernel takes no more of a connection's output beyond what is on its way and so many
 * bytes. Without that limit it would take megabytes for a client that reads nothing, where
 * nobody counts them. What it does not take is the connection's unread output, which is
 * counted. */
#define LISTENER_UNSENT_BYTES 65536

/* Then the connections have their turn. */
#define LISTENER_ACCEPTS_PER_TURN 32

struct event;

struct listener {
    const char *name; /* module in the log */
    struct loop *loop;
    int fd;
    /* `fd` is the callee's now: non-blocking, close-on-exec, and on TCP without Nagle's delay
     * and with probes that notice within 10 s that a peer has vanished. */
    void (*on_accept)(struct listener *l, int fd);
    struct event *acceptable;
    struct timer timer; /* breaks, when the process has no descriptors left */
    int64_t next_warning_mono_ms;
};

/* Starts. `fd` is the listener's from now on, and made non-blocking. */
void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd));

/* Accepts now all that wait, not when the loop turns. */
void listener_accept(struct listener *l);

/* Accepts no more and closes the descriptor; harmless twice. */
void listener_stop(struct listener *l);

#endif
