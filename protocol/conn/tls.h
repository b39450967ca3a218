/* TLS below the protocols: a connection reads and writes through its session, and the dialect
 * above notices nothing.
 *
 *                                          0x16
 *   a client comes --> its first byte tells --------> HELLO --> SHAKING --> OPEN
 *                                    \--> plain
 *
 *   HELLO    its first record waits in the kernel until it is whole: a client that sends it
 *            byte by byte costs no memory here and no turn of the loop
 *   SHAKING  the session has its keys to agree on. A handshake costs 0.5 to 0.7 ms, so those
 *            with something to do get in line, and each turn of the loop takes a few
 *   OPEN     input is decrypted as far as it is there, output encrypted record by record
 *
 * After each turn nothing decrypted is left in a session, at most a part of a record; and
 * output that the kernel has not taken completely, to the last byte of its record, counts as
 * not written. So what holds for a plain connection holds here: input waits in the kernel or in
 * `input`, output in `output`.
 *
 * An acknowledgement is the peer's kernel's, of encrypted bytes: a session keeps where each
 * record ends, in both counts, until it is acknowledged.
 */
#ifndef DUEQ_PROTOCOL_CONN_TLS_H
#define DUEQ_PROTOCOL_CONN_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/loop.h"

struct tls;
struct tls_texts;

/* The node's: its certificate, and the handshakes that wait for their turn, of all ports. It
 * has no certificate at first. */
struct tls *tls_new(struct loop *loop);

/* When no connection is left. NULL is fine. */
void tls_free(struct tls *tls);

/* Connections that come from now on get this certificate; others go on with theirs. Texts that
 * were used before change nothing; an empty certificate: there is none. Bad texts, which the
 * configuration lets through no more than a full memory, are told in the log and not taken. */
void tls_load(struct tls *tls, const struct tls_texts *texts);

/* The first end of a certificate in the chain, in seconds since 1970; 0: there is none. */
int64_t tls_end_s(const struct tls *tls);

enum tls_mode { TLS_OFF, TLS_OPTIONAL, TLS_REQUIRED };

/* How the connections of a kind speak TLS; may change at any time, for new connections. */
struct tls_port {
    struct tls *tls; /* borrowed; NULL, or without a certificate: nobody can */
    enum tls_mode mode;
    int64_t limit_ms; /* a handshake may take so long, and a record; 0: no limit */
    /* The dialect's: */
    const char *application;    /* "http/1.1": taken where a client offers it (ALPN); or NULL */
    struct bytes plain_refusal; /* to a client that speaks plain where that is no use */
    uint64_t *handshakes;       /* counts those that succeeded, and */
    uint64_t *failures;         /* those that did not; the owner's both */
};

#endif
