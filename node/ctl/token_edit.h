/* A change of one identity: the options and the line of before make the line of after. Pure.
 *
 * A change may be made again: after somebody else was faster, and after its answer was lost.
 * What it does then is no more than what it did, or would have done, the first time: a token
 * that is there already is not added again, and "the older of two tokens" stays the one that
 * it was when the change first saw the line.
 */
#ifndef DUEQ_NODE_CTL_TOKEN_EDIT_H
#define DUEQ_NODE_CTL_TOKEN_EDIT_H

#include "base/buf.h"
#include "node/ctl/ctl.h"
#include "protocol/access/identity.h"

enum token_edit_kind {
    TOKEN_NEW,        /* roles and the like, and a token more */
    TOKEN_REVOKE,     /* no such identity any more */
    TOKEN_REVOKE_OLD, /* without the older of two tokens */
    TOKEN_IMPORT,     /* the line of `wanted` */
};

struct token_edit {
    enum token_edit_kind kind;
    const char *name;
    /* NEW: what is given; NULL: as before. A limit of "0" is none. */
    const char *roles, *topics, *san, *rate, *connections, *bytes;
    const int64_t *until_ms;
    const unsigned char *hash; /* of the new token; NULL: none */
    /* IMPORT */
    const struct identity *wanted;
    bool is_forced; /* in the place of another line, too */
    /* REVOKE_OLD: the change's own */
    unsigned char revoked[TOKEN_HASH_BYTES];
    bool has_revoked; /* `revoked` is set */
    /* what came of it */
    int64_t
        version; /* of the line now, as a node says; 0: nothing was changed, or by no node */
};

/* What is known of the identity before the change. */
struct token_before {
    bool is_there;
    const struct identity *identity; /* NULL: none is there, or its line cannot be read */
};

/* DONE: `line` gets the new line, nothing where the identity is to go. USAGE: the command line
 * is wrong. NOTHING, REFUSED: it cannot be done as things are. `why` then gets the reason; of
 * the last two it goes on behind the name of the place where the identities are. */
enum ctl_exit token_edit_apply(struct token_edit *edit, struct token_before before,
                               struct buf *line, struct buf *why);

/* Is it so that nothing is left to do? To be asked of a change that was applied before. */
bool token_edit_holds(struct token_edit *edit, struct token_before now);

#endif
