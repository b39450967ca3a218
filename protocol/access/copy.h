/* The node's copy of the identities that are in Redis. Pure.
 *
 * Each identity has a version, which counts up with its changes; a revoked one stays as a
 * version without a line. So of two states of an identity the newer one is known, whoever has
 * it, and what Redis and the node know is joined identity by identity:
 *
 *   Redis has it newer        the copy takes it
 *   Redis has it older        Redis has lost it: it failed over, was emptied, or came back from
 *                             a backup. The copy is ahead of Redis there, and the node tells it
 *   Redis does not have it    the same
 *   two of one version        each side of a failover has had a change: what Redis has counts,
 *                             but a revocation goes before a line
 *
 * Redis forgets the oldest revocations, and keeps the version of the newest of these as its
 * horizon: what it lacks with a version up to that was revoked, and is not lost.
 */
#ifndef DUEQ_PROTOCOL_ACCESS_COPY_H
#define DUEQ_PROTOCOL_ACCESS_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/op.h"

struct copy_row {
    struct bytes name, line; /* line: empty, it is revoked */
    int64_t version;
    bool is_ahead;    /* Redis has it older, or not at all, */
    bool is_deferred; /* and does not take it now */
};

/* All zero: empty. */
struct copy {
    struct copy_row *rows; /* in the order of their names */
    unsigned count;
};

void copy_fini(struct copy *c);

/* Joins what Redis has, each name once, with the copy. */
void copy_join(struct copy *c, const struct identity_row *rows, unsigned count,
               int64_t horizon);

/* Redis has this row now. Where the copy has a newer one, nothing is done. */
void copy_put(struct copy *c, const struct identity_row *row);

/* The next row in which the copy is ahead, revocations first; NULL: there is none. Borrowed
 * until the next change. And how many there are. */
const struct copy_row *copy_ahead(const struct copy *c);
unsigned copy_ahead_count(const struct copy *c);

/* Redis does not take this row: others come first, until copy_defer_none(). */
void copy_defer(struct copy *c, struct bytes name);
void copy_defer_none(struct copy *c);

/* NULL: there is none. */
const struct copy_row *copy_find(const struct copy *c, struct bytes name);

/* Is it a line of this identity, as nodes write it? */
bool copy_is_good(struct bytes name, struct bytes line, int64_t version);

/* The highest version of all; 0: there is none. */
int64_t copy_version(const struct copy *c);

#endif
