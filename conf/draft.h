/* A configuration being read: the file's bytes, the variables in it, the values so far, and the
 * place where each value was written. */
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
    bool is_regular;  /* only regular files: a pipe is refused, and does not block */
};

/* Appends the bytes of a small file to `to`. IO_ERROR when the file cannot be read or is beyond
 * a limit: `why` tells the operator, and `to` is untouched. */
enum status file_read(const char *path, const struct file_limits *limits, struct buf *to,
                      struct buf *why) MUST_CHECK;

/* ${NAME} and ${NAME:-default} in a value of the file. A variable that is not set is an error:
 * else a node could quietly run with an empty host or no password. An unset or empty variable
 * takes the default, where one is given. `$${` stands for `${`, any other dollar sign for
 * itself. Defaults do not nest: a default ends at the first `}`.
 */

#define ENV_TEXT_MAX 65536 /* bytes of an expanded value */

/* Appends the expanded text to `to`. BAD_CONFIG: `why` is a sentence for the operator, and
 * `to` is untouched. */
enum status env_expand(const char *text, const char *(*get_env)(const char *name),
                       struct buf *to, struct buf *why) MUST_CHECK;

struct draft_key {
    struct conf_place place;
    bool is_bad; /* the value written is wrong, and reported: the field has an older value */
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
    struct draft_row *rows; /* of conf->topics, with room for CONF_TOPICS_MAX */
    bool is_in_row;         /* the last row is being read */
    bool is_reload;         /* as in struct conf_request */
};

/* Has the key a good value? Rules between keys are judged only with good values. */
static inline bool draft_has(const struct conf_draft *d, const struct conf_key *key)
{
    return !d->keys[conf_key_index(key)].is_bad;
}

/* The state of the key; of a row's key, in the last row. */
struct draft_key *draft_state(struct conf_draft *d, const struct conf_key *key);

/* Makes the text the key's value, or complains. */
void draft_set(struct conf_draft *d, const struct conf_place *place, const struct conf_key *key,
               const char *text);

/* "expected a number from 1 to 9, got a list"; `got` may be NULL. */
void draft_complain_unexpected(struct conf_draft *d, const struct conf_place *place,
                               const struct conf_key *key, const char *got);

/* The same, with the text that was written; a secret is not shown. */
void draft_complain_value(struct conf_draft *d, const struct conf_place *place,
                          const struct conf_key *key, const char *text);

/* Complains about an unknown key, and names the key that was probably meant. */
void draft_complain_unknown(struct conf_draft *d, const struct conf_place *place,
                            const char *path);

/* Judges the rules between keys and derives values: the node's name, passwords from files.
 * Rules that involve a bad key are skipped. In check.c. */
void draft_check(struct conf_draft *d);

#endif
