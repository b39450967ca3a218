/* The table of keys: everything that can be configured, one line each.
 *
 * The list `topics` is one key. The keys of its rows have a table of their own in the same
 * form, with fields in struct conf_topic and without defaults: a row may leave keys out.
 */
#ifndef DUEQ_CONF_TABLE_H
#define DUEQ_CONF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "conf/conf.h"
#include "conf/kind.h"

struct conf_key {
    const char *path; /* "store.redis" */
    const struct conf_kind *kind;
    size_t offset;            /* of the field in its owner: struct conf, or struct conf_topic */
    const char *fallback;     /* the default, as text; NULL: a row's key */
    int64_t min, max;         /* by kind: number, bytes, ms or length; both included */
    const char *const *words; /* kind_word: in the order of the enum, NULL-terminated */
    bool is_reloadable;
    bool is_secret; /* its value is never shown */
    const char *help;
};

extern const struct conf_key conf_keys[];
extern const size_t conf_key_count;

extern const struct conf_key conf_topic_keys[TOPIC_KEY_COUNT]; /* by enum conf_topic_key */

/* The key with exactly this path, from either table, or NULL. */
const struct conf_key *conf_key_find(const char *path);

/* Is `path` the first part of some key's path? */
bool conf_key_is_section(const char *path);

/* The key that was probably meant, or NULL. */
const struct conf_key *conf_key_nearest(const char *path);

/* Is the key in conf_topic_keys? */
bool conf_key_is_of_row(const struct conf_key *key);

/* The index of the key in its own table. */
size_t conf_key_index(const struct conf_key *key);

/* The key's field in `owner`, a struct conf or struct conf_topic; borrowed. */
void *conf_key_field(const struct conf_key *key, void *owner);
const void *conf_key_value(const struct conf_key *key, const void *owner);

/* Writes the value as YAML, secret or not. */
void conf_key_print_value(const struct conf_key *key, const void *owner, struct buf *to);

/* "a duration from 1s to 10m" */
void conf_key_print_expected(const struct conf_key *key, struct buf *to);

#endif
