/* Text to value and back, for the values of a configuration. Pure.
 *
 * Parsers take the whole text or nothing: no blanks around it, no rest behind it. They return
 * false and leave the output untouched when the text has another form or does not fit into the
 * type. The caller checks the key's range.
 */
#ifndef DUEQ_CONF_VALUE_H
#define DUEQ_CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

/* "true" or "false": none of YAML's other spellings. */
bool value_parse_bool(const char *text, bool *value);

/* Decimal digits, without sign. */
bool value_parse_count(const char *text, int64_t *value);

/* Digits and B, KiB, MiB or GiB; digits alone are bytes. */
bool value_parse_size(const char *text, int64_t *bytes);

/* Digits and ms, s, m, h or d. The unit is not optional: "10" is too easy to misread. */
bool value_parse_duration(const char *text, int64_t *ms);

/* Digits and %. */
bool value_parse_percent(const char *text, int64_t *percent);

/* Which of the NULL-terminated words it is. */
bool value_parse_word(const char *text, const char *const *words, unsigned *index);

/* "host:port" or "[address]:port"; the host borrows from the text, the port may be 0. */
bool value_parse_host_port(const char *text, struct bytes *host, unsigned *port);

/* Is it made of [A-Za-z0-9_.:-] only? */
bool value_is_name(const char *text);

/* Names of [A-Za-z0-9_.-] with commas between, or none? */
bool value_is_hosts(const char *text);

/* Addresses and networks as networks_read() takes them? */
bool value_is_networks(const char *text);

/* "host:port" as above, but no port 0, with commas between, or none? */
bool value_is_servers(const char *text);

/* "sentinel://NAME@host:port,host,..."? NAME is 1 to 127 of [A-Za-z0-9_.-]; 1 to 16 hosts, each
 * with a port as above, or without. */
bool value_is_sentinels(const char *text);

/* "cluster://host:port,host,..."? 1 to 16 hosts, with or without ports, too. */
bool value_is_cluster(const char *text);

/* A topic's name, or a prefix and "*" (alone: all topics)? The characters are those of
 * node/queue/queue.h; the caller checks the length. */
bool value_is_topics(const char *text);

/* Print with the largest unit that gives a whole number, as the parsers read it. */
void value_print_size(struct buf *to, int64_t bytes);
void value_print_duration(struct buf *to, int64_t ms);

/* Prints a YAML double-quoted scalar in which nothing is special, not even ${. */
void value_print_quoted(struct buf *to, const char *text);

#endif
