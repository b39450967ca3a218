/* The text of a znode: lines of "key value", in UTF-8. Pure.
 *
 * Programs of other versions write these texts: unknown keys are skipped, a missing key is no
 * fault, and a malformed value counts as missing. A value is the rest of its line.
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

/* Takes the next line off `text`; key and value are borrowed from it. False at its end. */
bool record_next(struct bytes *text, struct bytes *key, struct bytes *value);

/* The value of the first line with that key. False, outputs untouched: no such line, or a value
 * of another form. */
bool record_get(struct bytes text, const char *key, struct bytes *value);
bool record_get_text(struct bytes text, const char *key, char *value, size_t room);
bool record_get_number(struct bytes text, const char *key, int64_t *value); /* 0 or more */
bool record_get_flag(struct bytes text, const char *key); /* "yes"; else false */

/* Parses a value as a number of 0 or more in decimal. */
bool record_number(struct bytes value, int64_t *number);

/* Copies a value of at most room - 1 bytes, none of them NUL. */
bool record_text(struct bytes value, char *text, size_t room);

/* Takes the next word off `value`. False at its end. */
bool record_word(struct bytes *value, struct bytes *word);

#endif
