/* Identities: who somebody is, and what this one may do. Pure.
 *
 * An identity is a line of text, wherever it is kept:
 *
 *   shop produce,consume topics=orders,mail.* until=2027-01-01T00:00:00Z token=SHA256[,SHA256]
 *   mill produce cert=DNS:mill.example.com
 *
 *   name     1 to 64 of [A-Za-z0-9_.-]
 *   roles    with commas between; "all" is every role
 *   topics   exact, or with a '*' at the end, which spans '/'; left out: every topic
 *   until    when the identity expires; UTC; left out: never
 *   token    the SHA-256 of a token, 64 hexadecimal digits. Two, so that a new token can take
 *            the place of an old one without a moment in which neither holds
 *   cert     a name in the certificate of its clients: a subject alternative name (RFC 5280,
 *            4.2.1.6) of type DNS or URI, "DNS:mill.example.com", "URI:spiffe://acme/mill". No
 *            common name: RFC 9525 (section 2) has given these up, and a subject has blanks
 *   rate         requests that it may send a second, as many at once; 1 to 1000000
 *   connections  that may act as it at the same time; 1 to 1000000
 *   bytes        of requests in work, with KiB, MiB or GiB behind, or nothing; at most 64GiB
 *
 * The line holds no token, only its hash: 32 random bytes cannot be found from their hash.
 */
#ifndef DUEQ_PROTOCOL_ACCESS_IDENTITY_H
#define DUEQ_PROTOCOL_ACCESS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/buf.h"
#include "base/bytes.h"

#define IDENTITY_NAME_MAX   64
#define IDENTITY_TOPICS_MAX 64
#define IDENTITY_TOKENS_MAX 2
#define IDENTITY_CERT_MAX   512
#define IDENTITY_LINE_MAX   16384
#define TOKEN_HASH_BYTES    32

/* What is counted for an identity. It outlives a change of its line, so that limits hold over
 * that. */
struct identity_account {
    unsigned users;
    unsigned connections;
    size_t bytes; /* of requests in work */
    struct allowance requests;
    struct allowance_line line; /* clients that wait for one of these: conn/turns.h */
};

struct identity {
    unsigned users; /* as identity_use() counts them */
    unsigned roles; /* a set of enum access_role; never empty */
    unsigned topic_count;
    unsigned token_count;
    unsigned rate;              /* limits; 0: none */
    unsigned connections_max;   /* the same */
    size_t bytes_max;           /* the same */
    bool is_spare, is_left_out; /* access.c's */
    bool is_gone;               /* it holds no more: another line, or none, is in its place */
    int64_t until_ms;           /* Unix time; INT64_MAX: never */
    struct identity_account *account;
    struct bytes line; /* as it was read: all of `text` */
    struct bytes name;
    struct bytes cert;                        /* DNS in lower case; empty: none */
    struct bytes topics[IDENTITY_TOPICS_MAX]; /* patterns; none: every topic */
    unsigned char tokens[IDENTITY_TOKENS_MAX][TOKEN_HASH_BYTES];
    char text[]; /* what name, cert and topics borrow from */
};

/* A new identity from its line, with one user: the caller. NULL: `*why` says what is wrong, for
 * people; static. */
struct identity *identity_parse(struct bytes line, const char **why);

/* Is it a name of identities? */
bool identity_is_name(struct bytes text);

/* Writes such a name of a certificate as it is compared: DNS in lower case (RFC 4343), in
 * place. False: it is none that an identity may have. */
bool identity_cert_normalize(struct bytes name);

/* Adds its line, without an end of line. */
void identity_print(struct buf *to, const struct identity *identity);

/* One user more, or one less; with the last one it is freed. NULL is fine in both. */
struct identity *identity_use(struct identity *identity);
void identity_drop(struct identity *identity);

/* The same for what is counted, which a connection may need for longer. */
struct identity_account *identity_account_use(struct identity_account *account);
void identity_account_drop(struct identity_account *account);

/* `fresh` takes the place of `old`: what was counted goes on. */
void identity_inherit(struct identity *fresh, const struct identity *old);

/* May it have so many bytes more in work, beside `bytes` of now? */
bool identity_may_have_bytes(const struct identity *identity, size_t bytes, uint64_t more);

/* Do both have the same line? */
bool identity_is_same(const struct identity *a, const struct identity *b);

/* Is it for every topic? For this one? */
bool identity_has_all_topics(const struct identity *identity);
bool identity_has_topic(const struct identity *identity, struct bytes topic);

#endif
