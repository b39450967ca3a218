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

/* Proving to another node that one knows the cluster's secret, without saying it.
 *
 * Each side's proof is an HMAC-SHA256 under the secret over all that both have said: which side
 * it is, both names, both incarnations, both random challenges. So a recorded proof fits no
 * second conversation, a listener's proof cannot be used as a dialer's, and nobody can pass on
 * a conversation with one node as one with another.
 *
 * The one file that sees libcrypto.
 */

enum peer_side { PEER_DIALER, PEER_LISTENER };

/* Both hellos of one conversation. */
struct peer_hellos {
    struct peer_message of[2]; /* by side */
};

/* The proof that `side` has to give. */
void peer_auth_prove(const char *secret, enum peer_side side, const struct peer_hellos *hellos,
                     unsigned char mac[PEER_MAC_BYTES]);

/* Is it that proof? Takes the same time for every answer. */
bool peer_auth_is_proven(const char *secret, enum peer_side side,
                         const struct peer_hellos *hellos,
                         const unsigned char mac[PEER_MAC_BYTES]);

/* Fit for challenges; aborts when the system has no randomness. */
void peer_auth_random(void *at, size_t len);

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
