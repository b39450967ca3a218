/* Identities that are in Redis, for the handlers of any dialect: read, made, changed, revoked.
 *
 * They are for administrators of all topics: whoever can change identities can have any right.
 * An exchange has one of these calls at a time, which keeps its state with exchange_keep(); the
 * caller's `on_done` comes once, perhaps at once, and answers.
 */
#ifndef DUEQ_PROTOCOL_HTTP_IDENTITIES_H
#define DUEQ_PROTOCOL_HTTP_IDENTITIES_H

#include "protocol/access/registry.h"
#include "protocol/http/exchange.h"

/* May the client see and change them, as far as its topics go? False: it was answered. */
bool http_is_for_all_topics(struct exchange *x);

/* Reads all of them, as they are in Redis now: an IDENTITIES, whose call is http_call_of(op).
 * Where this node is not the one to ask, that is answered, and nothing comes. */
void http_read_identities(struct exchange *x, const struct registry *r,
                          void (*on_done)(struct op *op));

/* The identity of a row, with one user: the caller. NULL: the row cannot be read, so nobody
 * acts by it; or it is revoked. */
struct identity *http_identity_of(const struct identity_row *row);

struct http_change {
    /* inputs, as registry_prepare() has them; for the call alone */
    struct bytes name;
    struct bytes line; /* "" revokes */
    int64_t expected;
    struct buf text; /* the caller's, which ends it in `on_done` */
    void (*on_done)(struct http_change *change);

    /* In `on_done`: it was made, and this node acts by it, where op.status is OK. Else `why`
     * says why not, for people; NULL: as for any operation. */
    struct exchange *x;
    struct op op;
    const char *why;

    /* Its own. */
    struct registry *registry;
    struct registry_change prepared;
    char room[IDENTITY_NAME_MAX];
};

/* Makes a copy of the change. */
void http_change_identity(struct exchange *x, struct registry *r,
                          const struct http_change *ask);

#endif
