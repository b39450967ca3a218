/* Bytes as text that is safe to show, and from text that JSON has carried; sizes. Pure.
 *
 * Text from a node was written by strangers. A terminal would obey its control characters, so
 * they are shown in escaped form: \n, \x1b, \u202e.
 */
#ifndef DUEQ_NODE_CTL_TEXT_H
#define DUEQ_NODE_CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

/* Adds the bytes with a backslash form for controls, for characters that turn the direction of
 * writing, for what is no UTF-8, and for the backslash itself. */
void text_escape(struct buf *to, struct bytes from);

/* How many columns a text takes that text_escape() has made; wide characters count as one. */
size_t text_width(const char *text);

/* "1234567", or "1,234,567" for people. */
void text_number(struct buf *to, int64_t n, bool is_grouped);

/* Sizes as the configuration has them: bytes alone, or with B, KiB, MiB or GiB. False, and
 * *bytes as it was, when the text is none, or does not fit. */
bool size_parse(const char *text, int64_t *bytes);

/* With the largest unit that leaves no rest, so that size_parse() reads it back. */
void size_write(struct buf *to, int64_t bytes);

/* UTF-8 without NUL? Such a body travels as it is, any other as base64. */
bool text_is_plain(struct bytes from);

/* False, and `to` as it was, when it is no padded base64. */
bool text_from_base64(struct buf *to, struct bytes from);

#endif
