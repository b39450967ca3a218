/* Access: the identities that a node knows, and how a request finds its own.
 *
 * There is one for the whole node. As long as it knows no identity it is off, and everybody may
 * do everything. From the first one on each request acts as an identity:
 *
 *   - the one whose token it carries, or
 *   - where it carries none, the one that its port gives to such clients (http.as, gmq.as), or
 *   - nobody, who may do nothing but what is for everybody.
 *
 * Nothing here tells why a token is not valid (unknown, replaced, expired: one answer), or how
 * near it is to a valid one: hashes are compared, mixed with a random number of this process.
 *
 * Wrong tokens are counted by address. Over the limit an address is told to come back later in
 * place of being told that the token is wrong; a right token is taken all the same, so that
 * nobody locks out the others behind one proxy. (No limit keeps anybody from guessing 32 random
 * bytes: this one keeps the log short, and shows a client that is set up wrongly.)
 */
#ifndef DUEQ_PROTOCOL_ACCESS_ACCESS_H
#define DUEQ_PROTOCOL_ACCESS_ACCESS_H

#include "base/status.h"
#include "protocol/access/identity.h"

struct access;

#define ACCESS_IDENTITIES_MAX 1000

/* Never NULL; off. */
struct access *access_new(void);
void access_free(struct access *a); /* NULL is fine */

/* From now on these identities and no others are known: one a line; empty lines and those that
 * begin with '#' mean nothing. BAD_CONFIG: `why` gets what is wrong, with the number of the
 * line; the older ones stay known. */
enum status access_take(struct access *a, struct bytes text, struct buf *why) MUST_CHECK;

/* Knows nobody, and is on: each request that needs a role is refused. For a node whose
 * identities cannot be read. */
void access_close(struct access *a);

bool access_is_on(const struct access *a);

/* The identity of a token, and of a name; NULL: there is none, or its time is over. Borrowed
 * until the next access_take(). */
struct identity *access_of_token(const struct access *a, struct bytes token, int64_t now_ms);
struct identity *access_of_name(const struct access *a, struct bytes name, int64_t now_ms);

/* Notes a wrong token. True: there were too many from this address (bytes, as peer_address()
 * gives them): ACCESS_ATTEMPTS at once, then one a second. */
#define ACCESS_ATTEMPTS 10
bool access_is_attempt_too_many(struct access *a, struct bytes address, int64_t now_mono_ms);

/* The hash by which an identity knows the token. */
void access_hash(struct bytes token, unsigned char hash[TOKEN_HASH_BYTES]);

/* Adds a new token: "dq_" and 32 random bytes in base64url. Wipe it when it is told. */
void access_make_token(struct buf *to);

#endif
