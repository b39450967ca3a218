/* A configuration being read: the values so far, the place where each value was written, and
 * the mistakes.
 *
 * Quoted keys and values come from outside: in a message a control character is a '?', and the
 * list of mistakes has a limit.
 */
#ifndef DUEQ_CONF_LOAD_H
#define DUEQ_CONF_LOAD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/status.h"
#include "conf/conf.h"
#include "conf/table.h"

enum conf_origin { FROM_DEFAULT, FROM_FILE, FROM_SET };

/* Where a value was written. */
struct conf_place {
    enum conf_origin origin;
    const char *file; /* FROM_FILE */
    unsigned line;    /* FROM_FILE, from 1; 0: the file as a whole */
    unsigned column;  /* in characters, from 1 */
};

/* `key` may be NULL. Gives "file:line:column: key: message", "--set key: message" or
 * "key: message". */
void conf_errors_add(struct conf_errors *errors, const struct conf_place *place,
                     const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

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
    struct draft_row *rows; /* of conf->topics */
    bool is_in_row;         /* the last row is being read */
    bool is_reload;         /* as in struct conf_request */
};

/* Judges the rules between keys and derives values: the node's name, passwords from files.
 * Rules that involve a bad key are skipped. In check.c. */
void draft_check(struct conf_draft *d);

#endif
