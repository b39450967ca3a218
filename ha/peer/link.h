/* The peers port on sockets: one listener for all, a dialer for each other node.
 *
 *   wire.c      messages and lines; pure
 *   tls.c       TLS by the cluster's secret: bytes to bytes
 *   conn.c      messages over a socket, and the proof of knowing the cluster's secret
 *   listener.c  the listening half: lets others in, tells them this session, answers them
 *   dialer.c    the dialing half: watches one other node, and asks it questions
 *   death.c     the rules of proof of death; pure
 */
#ifndef DUEQ_HA_PEER_LINK_H
#define DUEQ_HA_PEER_LINK_H

#include "ha/peer/peers.h"
#include "ha/peer/tls.h"

struct loop;

#define PEER_SILENCE_MS 4000

struct peer_options {
    const char *node;       /* this node's name */
    const char *cluster;    /* its name */
    const char *secret;     /* the cluster's */
    const char *secret_old; /* the one before it, while nodes may still have that; "": none */
    enum peer_tls_mode tls;
    int listen_fd;      /* taken over: bound, listening, non-blocking, close-on-exec */
    int64_t silence_ms; /* a connection silent for this time is closed; PEER_SILENCE_MS */
};

/* Texts are borrowed for the link's life. The caller sets the port's callbacks next. Each call
 * draws a new incarnation, so call it once in a process. */
struct peers *peer_link_new(const struct peer_options *options, struct loop *loop);

/* Not from inside a callback; NULL is fine. Closes the listening socket, which other nodes take
 * for this process's death unless they have heard peers_leave(). */
void peer_link_free(struct peers *p);

/* The number of other nodes to which this node has dialed an authenticated connection. */
unsigned peer_link_up_count(const struct peers *p);

/* Of these, the number that is without TLS. */
unsigned peer_link_plain_count(const struct peers *p);

#endif
