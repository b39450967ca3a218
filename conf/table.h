/* The table of keys: everything that can be configured, one line each; and the kinds of value
 * that a key can have.
 *
 * A kind is some functions and a few words; a key points to its kind and adds the range. To
 * add a kind: a line here, and a struct in kinds.c.
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

struct conf_key;

struct conf_kind {
    const char *what; /* "a duration", for messages */
    size_t bytes;     /* of the field */
    /* Of texts: is it one of the kind? NULL: any text is. And what its length is counted in. */
    bool (*accepts)(const char *text);
    const char *unit;
    /* Of numbers: from a text, and so that parse() reads it back. */
    bool (*parse)(const char *text, int64_t *value);
    void (*write)(struct buf *to, int64_t value);
    /* Reads the text into the field and frees the old value. False: the text is not of the kind
     * or not in the key's range, and the field is untouched. */
    bool (*set)(const struct conf_key *key, const char *text, void *field);
    /* Writes the value so that set() reads it back. */
    void (*print)(const struct conf_key *key, const void *field, struct buf *to);
    /* Frees what the field owns; NULL: nothing. A zeroed field is fine. */
    void (*fini)(void *field);
    /* Writes the range, "from 1 to 10 (such as 3)"; NULL: the kind has no ranges. */
    void (*print_range)(const struct conf_key *key, struct buf *to);
    /* The key for a password that people may write into the value, in front of an '@'; a
     * refused value is shown without that part. NULL: values of this kind hold no password. */
    const char *password_goes_to;
    bool is_addresses; /* several addresses, separated by commas only */
    bool is_quoted;    /* in YAML */
    bool is_list;      /* of rows, read key by key; print() writes the text after the colon */
};

extern const struct conf_kind kind_bool;     /* bool */
extern const struct conf_kind kind_count;    /* unsigned */
extern const struct conf_kind kind_size;     /* size_t, bytes */
extern const struct conf_kind kind_duration; /* int64_t, ms */
extern const struct conf_kind kind_percent;  /* unsigned */
extern const struct conf_kind kind_word;     /* an enum; the key has the words */
extern const struct conf_kind kind_text;     /* char *, length in the key's range */
extern const struct conf_kind kind_name;     /* the same, of [A-Za-z0-9_.:-] */
extern const struct conf_kind kind_modules;  /* char *, for base/log */
extern const struct conf_kind kind_hosts;    /* char *, names with commas between */
extern const struct conf_kind kind_servers;  /* char *, "host:port,host:port" */
extern const struct conf_kind kind_networks; /* char *, "10.0.0.0/8,::1" */
extern const struct conf_kind kind_topics;   /* char *, a topic, or a prefix and "*" */
extern const struct conf_kind kind_listen;   /* struct conf_address: OFF or TCP */
extern const struct conf_kind kind_port;     /* the same, or UNIX */
extern const struct conf_kind kind_redis;    /* struct conf_address: all but OFF */
extern const struct conf_kind kind_list;     /* struct conf_topics; in topics.c */

struct conf_key {
    const char *path; /* "store.redis" */
    const struct conf_kind *kind;
    size_t offset;            /* of the field in its owner: struct conf, or struct conf_topic */
    const char *fallback;     /* the default, as text; NULL: a row's key */
    int64_t min, max;         /* by kind: number, bytes, ms or length; both included */
    const char *const *words; /* kind_word: in the order of the enum, NULL-terminated */
    bool is_reloadable;
    bool is_secret; /* its value is never shown; the next key is of the file that may hold it */
    const char *help;
};

/* The files of one side of TLS, by enum tls_part: the keys, and where struct conf has their
 * names and their texts, each an array of char *. */
struct conf_tls_files {
    const char *keys[TLS_PARTS];
    size_t file, text;
};

enum conf_tls_side { TLS_OF_PORTS, TLS_OF_STORE, TLS_SIDES };

extern const struct conf_tls_files conf_tls_files[TLS_SIDES];

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
