/* The other end of a connection that speaks TLS, and the certificates of both, for tests. The
 * library's own client, so that a mistake of ours does not meet the same one. */
#ifndef DUEQ_PROTOCOL_CONN_TESTS_TLS_PEER_H
#define DUEQ_PROTOCOL_CONN_TESTS_TLS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/tests/certificates.h"
#include "base/tls_context.h"
#include "protocol/conn/tls.h"

/* Made once in a run: an authority, and who it vouches for. */
struct tls_peer_certificates {
    struct pem authority, server, client;
};

const struct tls_peer_certificates *tls_peer_certificates(void);

/* What a server with that certificate is made of; with `asks` it asks its clients for theirs.
 */
struct tls_texts tls_peer_texts(bool asks);

/* A server's part with tls_peer_texts(false). */
struct tls *tls_peer_server(struct loop *loop);

struct tls_peer;
struct ssl_st;

/* A client on the connected `fd`, which stays the caller's and is made non-blocking. It trusts
 * the authority. */
struct tls_peer *tls_peer_new(int fd);
void tls_peer_free(struct tls_peer *peer);

/* For what else a test wants. */
struct ssl_st *tls_peer_library(struct tls_peer *peer);

/* Takes a step of the handshake, where it is not over. */
bool tls_peer_is_open(struct tls_peer *peer);

/* As write() and recv(); without MSG_DONTWAIT reading waits. */
ssize_t tls_peer_write(struct tls_peer *peer, const char *at, size_t len);
ssize_t tls_peer_read(struct tls_peer *peer, char *to, size_t room, int flags);

#endif
