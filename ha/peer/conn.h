/* Messages over one socket of the peer link, dialed or accepted.
 *
 * Knows the line limit and how a connection ends, and nothing of who is at the other end. What
 * is sent goes to the kernel at once, so a good-bye is on its way when this process exits. A
 * peer that does not read is cut off, not waited for.
 */
#ifndef DUEQ_HA_PEER_CONN_H
#define DUEQ_HA_PEER_CONN_H

#include "base/loop.h"
#include "ha/peer/wire.h"

struct event;

enum peer_end {
    PEER_END_CLOSED,  /* by the other side: end of file, or reset */
    PEER_END_REFUSED, /* while connecting: its kernel says that nobody listens */
    PEER_END_FAILED,  /* while connecting: anything else; or the network gave up */
    PEER_END_GARBAGE, /* it does not speak our language, or does not read */
};

struct peer_conn {
    struct loop *loop;
    int fd; /* -1: ended */
    bool is_connecting;
    struct event *readable;
    struct event *writable;
    struct buf out; /* what the kernel did not take */
    size_t in_len;
    char in[PEER_LINE_MAX];

    /* From the loop, never from inside a function of this header, but for peer_conn_dial(). */
    void (*on_connected)(struct peer_conn *c); /* dialed ones only */
    void (*on_message)(struct peer_conn *c, const struct peer_message *m);
    /* It is closed already; the owner may begin anew, and must not free it before this turn of
     * the loop is over. `why` is for people. */
    void (*on_end)(struct peer_conn *c, enum peer_end end, const char *why);
};

/* Callbacks are set by the owner, after it. */
void peer_conn_init(struct peer_conn *c, struct loop *loop);
void peer_conn_fini(struct peer_conn *c);

/* Takes a connected socket: non-blocking, close-on-exec. */
void peer_conn_accept(struct peer_conn *c, int fd);

struct sockaddr;

/* Begins to connect. A failure that is known at once is told by on_end, too: from here. */
void peer_conn_dial(struct peer_conn *c, const struct sockaddr *to, unsigned len);

/* Harmless on an ended one. */
void peer_conn_send(struct peer_conn *c, const struct peer_message *m);

/* Ends it without on_end; harmless twice. */
void peer_conn_close(struct peer_conn *c);

#endif
