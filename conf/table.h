/* The table of keys: everything that can be configured, one line each. */
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
    size_t offset;            /* of the field in struct conf */
    const char *fallback;     /* the default, as text */
    int64_t min, max;         /* by kind: number, bytes, ms or length; both included */
    const char *const *words; /* kind_word: in the order of the enum, NULL-terminated */
    bool is_reloadable;
    bool is_secret; /* its value is never shown */
    const char *help;
};

extern const struct conf_key conf_keys[];
extern const size_t conf_key_count;

/* Exact match, or NULL. */
const struct conf_key *conf_key_find(const char *path);

/* Is it the first part of some key's path? */
bool conf_key_is_section(const char *path);

/* The key that was probably meant, or NULL. */
const struct conf_key *conf_key_nearest(const char *path);

size_t conf_key_index(const struct conf_key *key);
void *conf_key_field(const struct conf_key *key, struct conf *conf);
const void *conf_key_value(const struct conf_key *key, const struct conf *conf);

/* "a duration from 1s to 10m" */
void conf_key_print_expected(const struct conf_key *key, struct buf *to);

#endif
