/* The kinds of value a key can have: how the text is read into the field, written, freed.
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
    /* Reads the text into the field, whose old value it frees. False: the text is not of the
     * kind or not in the key's range, and the field is as it was. */
    bool (*set)(const struct conf_key *key, const char *text, void *field);
    /* Writes the value so that set() reads it back. */
    void (*print)(const struct conf_key *key, const void *field, struct buf *to);
    /* Frees what the field owns; NULL: nothing. A zeroed field is fine. */
    void (*fini)(void *field);
    /* Writes the range, "from 1 to 10 (such as 3)"; NULL: it has none. */
    void (*print_range)(const struct conf_key *key, struct buf *to);
    /* Where a password goes that people write into such a value, in front of an '@': a value
     * that is refused is shown without it. NULL: it has no place for one. */
    const char *password_goes_to;
    bool is_addresses; /* several, with commas and nothing else between */
    bool is_quoted;    /* in YAML */
    bool is_list; /* of rows: they are read key by key, print() writes what follows the colon */
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
extern const struct conf_kind kind_topics;   /* char *, a topic or the beginning of some */
extern const struct conf_kind kind_listen;   /* struct conf_address: OFF or TCP */
extern const struct conf_kind kind_redis;    /* struct conf_address: all but OFF */
extern const struct conf_kind kind_list;     /* struct conf_topics; in topics.c */

#endif
