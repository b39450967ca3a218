/* Tells when the peer of a socket that nobody reads at the moment has ended it, or was lost.
 *
 * A paused connection would learn of the end from a reply that fails, or never. libevent's
 * EV_CLOSED is made for this, but 2.1 drops the event when the end is a reset, and its loop
 * then spins. So the sockets are in an epoll set of their own, whose descriptor is one event of
 * the loop.
 */
#ifndef DUEQ_PROTOCOL_CONN_HANGUP_H
#define DUEQ_PROTOCOL_CONN_HANGUP_H

#include <stdbool.h>

struct event;
struct loop;

struct hangups {
    struct loop *loop;
    void (*on_hangup)(void *arg);
    int epoll_fd;
    struct event *readable; /* of epoll_fd; NULL: nothing was watched yet */
};

/* `on_hangup` comes from the loop and may do anything, hangups_fini included. */
void hangups_init(struct hangups *h, struct loop *loop, void (*on_hangup)(void *arg));

/* Harmless twice. */
void hangups_fini(struct hangups *h);

/* Calls back once with `arg` when the end comes or has come, even behind unread bytes; watch
 * again for another call. False when the system cannot (no descriptors left). */
bool hangups_watch(struct hangups *h, int fd, void *arg);

/* Call before `fd` is closed. */
void hangups_forget(struct hangups *h, int fd);

#endif
