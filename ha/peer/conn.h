/* Messages over one socket of the peer link, dialed or accepted, by TLS or in plain text.
 *
 * This file knows the line limit and how a connection ends, and nothing about the peer.
 * Messages go to the kernel at once, so a good-bye is on its way when this process exits. A
 * peer that does not read is cut off, not waited for. TLS (tls.h) lies between the lines and
 * the socket: with it an end of the socket means the same as without.
 */
#ifndef DUEQ_HA_PEER_CONN_H
#define DUEQ_HA_PEER_CONN_H

#include "base/loop.h"
#include "ha/peer/tls.h"
#include "ha/peer/wire.h"

/* ---- shared by all parts of the peer link ---- */

/* This process. */
struct peer_self {
    struct loop *loop;
    struct peers *port;
    const char *node;
    const char *secrets[PEER_SECRETS]; /* a dialer may use any, a listener takes each */
    enum peer_tls_mode tls;
    struct peer_keys *keys; /* NULL: `tls` is OFF */
    uint64_t incarnation;
    int64_t handshake_ms; /* limit from the first packet to the last proof */
    int64_t silence_ms;   /* a connection silent for this time is closed */
};

/* Is it time for another warning? One a minute; each subject has its `next_mono_ms`, 0 at
 * first.
 */
bool peer_may_warn(const struct peer_self *self, int64_t *next_mono_ms);

/* ---- proofs ---- */

/* The proof to another node that this node knows the cluster's secret, without telling it.
 *
 * Each side's proof is an HMAC-SHA256 under the secret over the side, both names, both
 * incarnations and both random challenges. So a recorded proof fits no other conversation, a
 * listener's proof is no dialer's, and nobody can pass off a conversation with one node as one
 * with another.
 *
 * TLS does not replace it (tls.h says why). Only conn.c and tls.c see OpenSSL.
 */

enum peer_side { PEER_DIALER, PEER_LISTENER };

/* Both hellos of one conversation. */
struct peer_hellos {
    struct peer_message of[2]; /* by side */
};

/* The proof that `side` has to give. */
void peer_auth_prove(const char *secret, enum peer_side side, const struct peer_hellos *hellos,
                     unsigned char mac[PEER_MAC_BYTES]);

/* Is `mac` the proof that `side` has to give? Takes the same time for every `mac`. */
bool peer_auth_is_proven(const char *secret, enum peer_side side,
                         const struct peer_hellos *hellos,
                         const unsigned char mac[PEER_MAC_BYTES]);

/* Makes a challenge: random, but that a dialer with TLS marks it where it speaks plain text, to
 * a peer that seems to have none. A listener with TLS turns away what is marked. So nobody on
 * the way can keep TLS from two nodes that have it: the proofs cover the mark. */
void peer_auth_challenge(unsigned char challenge[PEER_CHALLENGE_BYTES], bool is_marked);
bool peer_auth_is_marked(const unsigned char challenge[PEER_CHALLENGE_BYTES]);

/* Fills in random bytes; aborts when the system has no randomness. */
void peer_auth_random(void *at, size_t len);

struct event;

enum peer_end {
    PEER_END_CLOSED,  /* by the other side: end of file, or reset */
    PEER_END_REFUSED, /* while connecting: the peer's kernel says that nobody listens */
    PEER_END_FAILED,  /* any other failure to connect; or the network gave up */
    PEER_END_GARBAGE, /* the peer sends no valid messages, or does not read */
    PEER_END_STRANGE, /* the peer knows another secret */
    PEER_END_NO_TLS,  /* CLOSED, by a peer that was dialed by TLS and has said nothing */
};

struct peer_conn {
    const struct peer_self *self;
    int fd; /* -1: ended */
    bool is_connecting;
    bool is_heard;        /* the other side has sent something */
    bool is_undecided;    /* accepted: the first byte will tell how the other side speaks */
    struct peer_tls *tls; /* NULL: plain text */
    struct event *readable;
    struct event *writable;
    struct buf out; /* bytes that the kernel has not taken yet */
    size_t in_len;
    char in[PEER_LINE_MAX];

    /* Callbacks come from the loop, never from inside a function of this header except
     * peer_conn_dial(). */
    void (*on_connected)(struct peer_conn *c); /* dialed connections only: TLS is UP, too */
    void (*on_message)(struct peer_conn *c, const struct peer_message *m);
    /* The connection is closed already. The owner may dial again, and must not free it before
     * this turn of the loop is over. `why` is for people. */
    void (*on_end)(struct peer_conn *c, enum peer_end end, const char *why);
};

/* The owner sets the callbacks afterwards. `self` is borrowed. */
void peer_conn_init(struct peer_conn *c, const struct peer_self *self);
void peer_conn_fini(struct peer_conn *c);

/* Takes over a connected socket: non-blocking, close-on-exec. */
void peer_conn_accept(struct peer_conn *c, int fd);
struct sockaddr;

/* Begins to connect; `tls` is taken over, NULL: plain text. A failure that is known at once
 * calls on_end from inside this function. */
void peer_conn_dial(struct peer_conn *c, const struct sockaddr *to, unsigned len,
                    struct peer_tls *tls);

/* Sends a message; does nothing on a connection that has ended. */
void peer_conn_send(struct peer_conn *c, const struct peer_message *m);

/* Ends the connection without on_end; harmless twice. */
void peer_conn_close(struct peer_conn *c);

#endif
