/* What one side of TLS shows and asks for, made from PEM texts: its certificate with the chain,
 * its key, and the authorities that may vouch for the other side. The configuration makes one
 * to judge its files; ports and links make theirs from the same texts.
 *
 * TLS 1.2 and 1.3, with ciphers that authenticate what they encrypt and keys that die with the
 * connection; no compression, no renegotiation. Sessions are resumed by tickets only (see
 * tls_tickets.h). A client of ours resumes none.
 */
#ifndef DUEQ_BASE_TLS_CONTEXT_H
#define DUEQ_BASE_TLS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum tls_part { TLS_CERTIFICATE, TLS_KEY, TLS_CA, TLS_PARTS };

struct tls_texts {
    /* "": there is none. A server without TLS_CA asks for no certificates; a client without it
     * takes servers that the machine's own authorities vouch for. */
    const char *pem[TLS_PARTS];
    bool is_client_required; /* a server's: a client without a certificate is refused */
};

struct ssl_ctx_st;

struct tls_context {
    struct ssl_ctx_st *ssl; /* connections that have begun with it hold it on their own */
    /* The first end of a certificate in the chain, in seconds since 1970; 0: it has none. */
    int64_t end_s;
    unsigned char texts[32]; /* stands for all that it was made from */
};

/* A server's. NULL: `*blamed` is the part that is wrong, and `why` says how, for an operator.
 */
struct tls_context *tls_context_new(const struct tls_texts *texts, enum tls_part *blamed,
                                    struct buf *why);

/* A client's, which takes no server that nobody vouches for. A certificate is shown to servers
 * that ask for one. Whether the server's is of the right name, each connection asks by itself.
 */
struct tls_context *tls_context_new_client(const struct tls_texts *texts, enum tls_part *blamed,
                                           struct buf *why);
void tls_context_free(struct tls_context *context);

bool tls_context_is_of(const struct tls_context *context, const struct tls_texts *texts);

#define TLS_WARN_DAYS 21 /* the log warns of a certificate that ends so soon */

/* Logs for this module that the chain ends soon, or has ended; where it `is_new`, also that it
 * is good. `what` it is, and what `follows` from its end, for people. To be asked each day. */
void tls_context_tell_end(const struct tls_context *context, const char *module,
                          const char *what, const char *follows, bool is_new);

struct x509_st;

/* When a certificate ends, in seconds since 1970. */
int64_t tls_end_of(const struct x509_st *certificate);

/* The library's reason for the last failure, which is forgotten with that; never NULL. */
const char *tls_take_reason(void);

#endif
