/* The kinds of value a key can have: reading a text into the field, printing and freeing it.
 *
 * A kind is some functions and a few words; a key points to its kind and adds the range. To
 * add a kind: one struct here and in kind.c.
 */
#ifndef DUEQ_CONF_KIND_H
#define DUEQ_CONF_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct conf_key;

struct conf_kind {
    const char *what; /* "a duration", for messages */
    size_t bytes;     /* of the field */
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
extern const struct conf_kind kind_topics;   /* char *, a topic, or a prefix and "*" */
extern const struct conf_kind kind_listen;   /* struct conf_address: OFF or TCP */
extern const struct conf_kind kind_redis;    /* struct conf_address: all but OFF */
extern const struct conf_kind kind_list;     /* struct conf_topics; in topics.c */

#endif
