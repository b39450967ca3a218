/* TLS of a connection to Redis, the client's side. Bytes to bytes: no sockets.
 *
 * What comes from the socket is put in, and what Redis has said taken out; what is to be sent
 * is added to the connection's output, the words of the handshake, too. So conn.c reads and
 * writes in one way, whether a connection is encrypted or not.
 *
 * Nothing is said to a Redis, no password either, before it has shown a certificate that is
 * good now, that an authority vouches for, and that has the name by which it was reached: the
 * host in store.redis, or the one that Sentinels or a Redis Cluster have told, which mostly is
 * an address; or the one name that store.tls.server_name says for all.
 */
#ifndef DUEQ_NODE_STORE_REDIS_TLS_H
#define DUEQ_NODE_STORE_REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct loop;
struct tls_texts;

/* What all connections of a store begin with. While it lives, the log warns each day of a
 * certificate of ours that ends soon. */
struct redis_tls;

struct redis_tls *redis_tls_new(struct loop *loop);
void redis_tls_free(struct redis_tls *tls); /* NULL is fine; sessions may live on */

/* Connections that begin from now on show and ask for this; others go on with what they have.
 * Without TLS_CA the machine's authorities are read anew. `server_name`: "": the name by which
 * each Redis is reached. Both are copied. Bad texts, which the configuration does not let
 * through, are told in the log; then nothing is taken. */
void redis_tls_load(struct redis_tls *tls, const struct tls_texts *texts,
                    const char *server_name);

/* What stands in front of "sentinel://" and "cluster://" in store.redis; NULL is fine. */
static inline const char *redis_tls_scheme(const struct redis_tls *tls)
{
    return tls ? "rediss+" : "";
}

/* The first end of a certificate in our chain, in seconds since 1970; 0: we show none. NULL is
 * fine. */
int64_t redis_tls_end_s(const struct redis_tls *tls);

enum redis_tls_state {
    REDIS_TLS_SHAKING,
    REDIS_TLS_OPEN,
    REDIS_TLS_ENDED, /* see redis_tls_why() */
};

struct redis_tls_session;

/* `host`: the name by which this Redis is reached; copied. `out` is borrowed for its life, and
 * has the first words to send already. */
struct redis_tls_session *redis_tls_session_new(struct redis_tls *tls, const char *host,
                                                struct buf *out);
void redis_tls_session_free(struct redis_tls_session *s); /* NULL is fine */

enum redis_tls_state redis_tls_state(const struct redis_tls_session *s);

/* Takes bytes from the socket, and goes on with the handshake. They are borrowed until
 * redis_tls_read() has returned 0. */
enum redis_tls_state redis_tls_take(struct redis_tls_session *s, struct bytes wire);

/* What Redis has said, at most `room` bytes; 0: there is no more for now, or the session has
 * ended. */
size_t redis_tls_read(struct redis_tls_session *s, char *to, size_t room);

/* Adds the bytes, encrypted, to the output. Only while OPEN. */
void redis_tls_write(struct redis_tls_session *s, struct bytes said);

/* Why it has ended, for people. One that begins with REDIS_TLS_LASTING lasts until somebody
 * changes Redis or our configuration. Borrowed from the session. */
#define REDIS_TLS_LASTING "TLS: "
const char *redis_tls_why(struct redis_tls_session *s);

/* Does what an unencrypted connection hears begin with an alert of TLS? */
bool redis_tls_is_alert(struct bytes heard);

#endif
