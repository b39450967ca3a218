/* Access: the identities that a node knows, and how a request finds its own.
 *
 * There is one for the whole node. It is off as long as nobody has told it of identities: then
 * everybody may do everything. From access_take() on each request acts as an identity, also
 * where there is none that it could act as:
 *
 *   - the one whose token it carries, or
 *   - where it carries none, the one that has a name of its client's certificate, or
 *   - where there is none, the one that its port gives to such clients (http.as, gmq.as), or
 *   - nobody, who may do nothing but what is for everybody.
 *
 * Identities may be on their way, from a store that every node reads: access_await(). Those
 * that are known act at once. The request of an identity that is not known waits, because a
 * wrong token cannot be told from one that is on its way; it is refused as "not yet" once the
 * owner gives up, and judged as ever when all are known:
 *
 *   OFF --await--> AWAITED --complete--> COMPLETE        take: OFF --> COMPLETE, else it stays
 *                  |     ^                   ^           turn_off: --> OFF
 *                  give_up await             |
 *                  v     |                   |
 *                  LATE -----complete--------+           COMPLETE --await--> AWAITED
 *
 * Nothing here bounds the time: that is the owner's. After each change it calls port_recheck().
 *
 * Nothing here tells why a token is not valid (unknown, replaced, expired: one answer), or how
 * near it is to a valid one: hashes are compared, mixed with a random number of this process.
 *
 * Requests without a valid token are counted by address. Over the limit an address is told to
 * come back later in place of being told that it has none; a valid token is taken all the same,
 * so that nobody locks out the others behind one proxy. (No limit keeps anybody from guessing
 * 32 random bytes: this one keeps the audit log short, and shows a client that is set up
 * wrongly.)
 */
#ifndef DUEQ_PROTOCOL_ACCESS_ACCESS_H
#define DUEQ_PROTOCOL_ACCESS_ACCESS_H

#include "base/status.h"
#include "protocol/access/identity.h"

struct access;

#define ACCESS_IDENTITIES_MAX 4000 /* a file's, and Redis's, which has room for 2000 */

/* Never NULL; off. */
struct access *access_new(void);
void access_free(struct access *a); /* NULL is fine */

/* On: from now on these identities and no others are known, perhaps none; what is awaited stays
 * so. One a line, each with its end; empty lines and those that begin with '#' mean nothing.
 * BAD_CONFIG: `why` gets what is wrong, with the number of the line, and nothing has changed.
 */
enum status access_take(struct access *a, struct bytes text, struct buf *why) MUST_CHECK;

/* The same with a second text, of those that give way: what cannot be read of it, and who has
 * the token or the certificate's name of somebody else, is left out, and `why` says so with OK;
 * one with the name of another is left out without a word. */
enum status access_take_both(struct access *a, struct bytes text, struct bytes spare,
                             struct buf *why) MUST_CHECK;

/* The next line of such a text, without its end. */
struct bytes access_next_line(struct bytes *rest);

/* On: besides those that are known, perhaps none, more identities are on their way. */
void access_await(struct access *a);

/* They have not come in time. Nothing happens where none is awaited. */
void access_give_up(struct access *a);

/* All that there are have been taken. Nothing happens where it is off. */
void access_complete(struct access *a);

/* Off again: everybody may do everything, and nothing is awaited. */
void access_turn_off(struct access *a);

bool access_is_on(const struct access *a);

/* Are identities on their way, so that the request of one that is not known has to wait? */
bool access_is_awaited(const struct access *a);

/* May there be identities that are not known: awaited ones, or given up? */
bool access_is_incomplete(const struct access *a);

/* How many identities are known. */
unsigned access_count(const struct access *a);

/* The identity of a token, of a certificate with these names, as connection_names() gives them,
 * and of a name; NULL: there is none, or its time is over. Of several names the first counts
 * that an identity has. Borrowed until the next access_take(). */
struct identity *access_of_token(const struct access *a, struct bytes token, int64_t now_ms);
struct identity *access_of_certificate(const struct access *a, struct bytes names,
                                       int64_t now_ms);
struct identity *access_of_name(const struct access *a, struct bytes name, int64_t now_ms);

/* The identity of a client without a token: of its certificate with these names, else the one
 * that has the name `as`, and then `*is_ports`. A certificate that no identity has may be for
 * TLS alone; but not while identities may be missing: then its client is not taken for `as`. */
struct identity *access_of_client(const struct access *a, struct bytes names, struct bytes as,
                                  int64_t now_ms, bool *is_ports);

/* Another one, of another name, that has a token or the certificate's name of this one, and
 * does not give way to it; NULL: there is none. */
const struct identity *access_rival_of(const struct access *a, const struct identity *one);

/* Notes a request without a valid token. True: there were too many from this address (bytes, as
 * peer_address() gives them): ACCESS_ATTEMPTS at once, then one a second. */
#define ACCESS_ATTEMPTS 10
bool access_is_attempt_too_many(struct access *a, struct bytes address, int64_t now_mono_ms);

/* The hash by which an identity knows the token. */
void access_hash(struct bytes token, unsigned char hash[TOKEN_HASH_BYTES]);

/* Adds a new token: "dq_" and 32 random bytes in base64url. Wipe it when it is told. */
void access_make_token(struct buf *to);

#endif
