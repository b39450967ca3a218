/* Roles: what somebody may do (doc/security.md has them for people).
 *
 * An operation names the roles that it is for, any one of which is enough. protocol/api/app.c
 * has those of the HTTP API, protocol/gmq/server.c those of gmq. (A node's role in its cluster
 * is another thing: ha/rule/role.h.)
 */
#ifndef DUEQ_PROTOCOL_ACCESS_ROLE_H
#define DUEQ_PROTOCOL_ACCESS_ROLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"

/*  X(NAME, bit, "word") */
#define ACCESS_ROLE_LIST(X)  \
    X(PRODUCE, 1, "produce") \
    X(CONSUME, 2, "consume") \
    X(INSPECT, 4, "inspect") \
    X(OPERATE, 8, "operate") \
    X(ADMIN, 16, "admin")

/* Bits, so that they can be a set. */
enum access_role {
#define X(name, bit, word) ACCESS_##name = bit,
    ACCESS_ROLE_LIST(X)
#undef X
};

#define ACCESS_ALL 31

/* For an operation that needs no identity. No identity has it. */
#define ACCESS_EVERYBODY 32

/* The audit log tells of what only operators and administrators may do. */
static inline bool access_is_audited(unsigned roles)
{
    return roles && !(roles & ~(unsigned)(ACCESS_OPERATE | ACCESS_ADMIN));
}

/* The word of the first role of a set, "" of none. Static. */
const char *access_role_word(unsigned roles);

/* "produce,consume", the set as words with commas between; and back. "all" is every role. 0: a
 * word is none, or there is no word. */
void access_roles_print(struct buf *to, unsigned roles);
unsigned access_roles_read(struct bytes words);

#endif
