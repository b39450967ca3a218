/* What a znode says: lines of "key value", in UTF-8. Pure.
 *
 * Read by programs of other versions, so keys that are not known are skipped, a missing one is
 * no fault, and what is malformed counts as missing. A value is the rest of its line.
 */
#ifndef DUEQ_HA_RULE_RECORD_H
#define DUEQ_HA_RULE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

/* Control characters of a value, a line's end among them, become '?'. */
void record_add(struct buf *b, const char *key, const char *value);
void record_add_number(struct buf *b, const char *key, int64_t value);

/* The next line: true, and `text` is what follows it. Both are borrowed from `text`. */
bool record_next(struct bytes *text, struct bytes *key, struct bytes *value);

/* The first line of that key. False, outputs untouched, where there is none, or not such a one.
 */
bool record_get(struct bytes text, const char *key, struct bytes *value);
bool record_get_text(struct bytes text, const char *key, char *value, size_t room);
bool record_get_number(struct bytes text, const char *key, int64_t *value); /* 0 or more */
bool record_get_flag(struct bytes text, const char *key); /* "yes"; else false */

/* Of one value: a number of 0 or more in decimal. */
bool record_number(struct bytes value, int64_t *number);

/* Text of at most room - 1 bytes, without NUL. */
bool record_text(struct bytes value, char *text, size_t room);

/* The next word of a value, with `value` left behind it. False at its end. */
bool record_word(struct bytes *value, struct bytes *word);

#endif
