/* A configuration on its way: the file's bytes, the variables in it, the values so far, and
 * where each one came from. */
#ifndef DUEQ_CONF_DRAFT_H
#define DUEQ_CONF_DRAFT_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/status.h"
#include "conf/conf.h"
#include "conf/errors.h"
#include "conf/table.h"

struct file_limits {
    size_t bytes_max;
    mode_t forbidden; /* permission bits */
    bool is_regular;  /* it has to be: a pipe is refused, and does not block */
};

/* Reads a small file whole: appends the file's bytes to `to`. IO_ERROR when it cannot be read,
 * or is beyond a limit: then `why` says so to the operator, and `to` is as it was. */
enum status file_read(const char *path, const struct file_limits *limits, struct buf *to,
                      struct buf *why) MUST_CHECK;

/* ${NAME} and ${NAME:-default} in a value of the file. A variable that is
 * not set is an error, because the alternative is a node that quietly runs with an empty host
 * or no password; with a default, unset and empty both take the default. `$${` stands for
 * `${`; any other dollar sign for itself. Defaults do not nest: a default ends at the first
 * `}`.
 */

#define ENV_TEXT_MAX 65536 /* bytes of an expanded value */

/* Appends the expanded text to `to`. BAD_CONFIG: `why` is a sentence for the operator, and
 * `to` is as it was. */
enum status env_expand(const char *text, const char *(*get_env)(const char *name),
                       struct buf *to, struct buf *why) MUST_CHECK;

struct draft_key {
    struct conf_place place;
    bool is_bad; /* what was written is wrong, and reported: the field has an older value */
};

struct draft_row {
    struct conf_place place;
    struct draft_key keys[TOPIC_KEY_COUNT];
};

struct conf_draft {
    struct conf *conf;
    struct conf_errors *errors;
    const char *(*get_env)(const char *name);
    struct draft_key *keys; /* by conf_key_index() */
    struct draft_row *rows; /* of conf->topics, with room for all that there can be */
    bool is_in_row;         /* the last of them is being read */
    bool is_reload;         /* as in struct conf_request */
};

/* Is the key's value what the operator meant? Then rules may be judged by it. */
static inline bool draft_has(const struct conf_draft *d, const struct conf_key *key)
{
    return !d->keys[conf_key_index(key)].is_bad;
}

/* Of a row's key: in the row that is being read, the last one. */
struct draft_key *draft_state(struct conf_draft *d, const struct conf_key *key);

/* Takes the text over as the key's value, or complains. */
void draft_set(struct conf_draft *d, const struct conf_place *place, const struct conf_key *key,
               const char *text);

/* "expected a number from 1 to 9, got a list"; `got` may be NULL. */
void draft_complain_unexpected(struct conf_draft *d, const struct conf_place *place,
                               const struct conf_key *key, const char *got);

/* The same of a text; a secret's is not shown. */
void draft_complain_value(struct conf_draft *d, const struct conf_place *place,
                          const struct conf_key *key, const char *text);

/* Names the key that was probably meant. */
void draft_complain_unknown(struct conf_draft *d, const struct conf_place *place,
                            const char *path);

/* Rules between keys, and what is worked out: the node's name, the password from its file.
 * Rules that involve a bad key are passed over. In check.c. */
void draft_check(struct conf_draft *d);

#endif
