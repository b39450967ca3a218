/* What the two files of TLS know of each other. Private to them.
 *
 *   handshake.c  until a session is open: plain or TLS, the hello, the line of handshakes, time
 *   tls.c        the certificate; a session's bytes, in and out; its end
 */
#ifndef DUEQ_PROTOCOL_CONN_TLS_SESSION_H
#define DUEQ_PROTOCOL_CONN_TLS_SESSION_H

#include <openssl/ssl.h>

#include "protocol/conn/private.h"

struct tls_context;
struct tls_tickets;

#define RECORD_MAX_BYTES 16384 /* of what a record carries */

struct tls {
    struct loop *loop;
    struct tls_context *context; /* NULL: there is no certificate */
    struct tls_tickets *tickets;
    BIO_METHOD *wire;
    struct list waiting; /* sessions with a step of their handshake to do, the oldest first */
    struct timer turn;   /* while there are any */
    struct timer daily;
    struct timer key; /* of the tickets: when it is to change */
};

struct tls_session {
    struct connection *connection;
    struct tls *tls;
    SSL *ssl;            /* NULL: the hello is not there yet */
    struct list waiting; /* in the tls's, while it waits for its turn */
    bool is_open;
    size_t awaited_bytes;   /* the kernel tells when so much of the hello is there; 0: of any */
    unsigned asides;        /* in the minute that began */
    int64_t asides_mono_ms; /* then */
    int64_t since_mono_ms;  /* when the handshake, or the record that is not complete, began */
    struct bytes arrived;   /* from the wire, during a call */
    struct buf unsent;      /* encrypted, and not taken by the kernel yet */
    size_t owed_bytes;      /* of the record that ends there, counted as not written yet */
    uint64_t wire_bytes;    /* that the kernel has taken, */
    uint64_t plain_bytes;   /* what all records carry, */
    uint64_t acked_bytes;   /* and of that: acknowledged, as last asked */
    struct stream marks;    /* struct mark, of records not acknowledged */
    bool has_names;         /* `names` was filled */
    struct buf names;       /* of the client's certificate */
    char *blamed;           /* the first certificate that was not good, and why; NULL: none */
};

/* ---- tls.c ---- */

struct tls_session *tls_session_new(struct connection *c);

/* False: the certificate was taken away since the client came. */
bool tls_session_begin(struct tls_session *s);

/* ---- handshake.c ---- */

void tls_init_handshakes(struct tls *tls);

/* When nobody waits. */
void tls_fini_handshakes(struct tls *tls);

/* Goes on with the handshake, as far as what has arrived will do. */
enum tls_progress tls_session_shake(struct tls_session *s);

/* A handshake or a record has begun, which has its time. */
void connection_watch_tls_time(struct connection *c);

#endif
