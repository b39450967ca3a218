/* TLS 1.3 between nodes, by the cluster's secret. Bytes to bytes: no sockets.
 *
 * Both sides know a key beforehand that they derive from the secret and the cluster's name, in
 * place of certificates: nothing here can expire and stop a failover. Each connection has fresh
 * keys besides (ECDHE), so a secret that leaks opens nothing that was recorded before. The
 * dialer's first packet names its key by a hash, by which the listener finds one of two while
 * the secret changes. A stranger who dials gets an alert, and nothing to guess the secret from.
 * But a dialer's first packet proves that it has the key, before it knows who listens: whoever
 * records that packet, or has it sent to itself, may try words by it for as long as it likes.
 * So the secret has to be drawn by chance.
 *
 * There are no tickets and no early data. An end of the connection needs no word of TLS either:
 * how a process ends is the business of death.h.
 *
 * The key is the same for all nodes and both directions, so TLS alone does not say which node
 * is there: a node could even be led to itself. The hellos and proofs of conn.h go on to say
 * that.
 */
#ifndef DUEQ_HA_PEER_TLS_H
#define DUEQ_HA_PEER_TLS_H

#include <stdbool.h>

#include "base/buf.h"

#define PEER_SECRETS 2 /* the newest one first; NULL: there is none */

enum peer_tls_mode {
    PEER_TLS_OFF,      /* as versions before it */
    PEER_TLS_OPTIONAL, /* plain text only with peers of such versions */
    PEER_TLS_REQUIRED,
};

/* The keys of this process. All connections must end before. */
struct peer_keys;
struct peer_keys *peer_keys_new(const char *cluster, const char *const secrets[PEER_SECRETS]);
void peer_keys_free(struct peer_keys *k); /* NULL is fine */

/* One side of a connection. */
struct peer_tls;

struct peer_tls *peer_tls_dial(struct peer_keys *k, unsigned secret);
struct peer_tls *peer_tls_accept(struct peer_keys *k);
void peer_tls_free(struct peer_tls *t); /* NULL is fine */

/* Does a connection that begins with this byte speak TLS? */
bool peer_tls_begins(unsigned char first);

enum peer_tls_state {
    PEER_TLS_SHAKING,
    PEER_TLS_UP,
    PEER_TLS_STRANGER, /* ended: the sides know different secrets */
    PEER_TLS_BROKEN,   /* ended: see peer_tls_why() */
};

/* Takes bytes from the other side, none at the dialer's beginning, and goes on with the
 * handshake. What is to be sent, an alert at the end included, is added to `to`. */
enum peer_tls_state peer_tls_take(struct peer_tls *t, struct bytes bytes, struct buf *to);

enum peer_tls_state peer_tls_state(const struct peer_tls *t);

/* The following two only while UP. */

/* The next bytes that the other side has said: at most `room`; 0: no more for now, or BROKEN.
 */
size_t peer_tls_read(struct peer_tls *t, char *at, size_t room);

/* Adds to `to` what says these bytes to the other side. */
void peer_tls_write(struct peer_tls *t, struct bytes said, struct buf *to);

/* What is wrong, for people. */
const char *peer_tls_why(const struct peer_tls *t);

#endif
