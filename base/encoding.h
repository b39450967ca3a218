/* What is text, and bytes as text: UTF-8, base64, hexadecimal, numbers. Pure. */
#ifndef DUEQ_BASE_ENCODING_H
#define DUEQ_BASE_ENCODING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"

/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. The
 * length of the character at the front of the `left` bytes (1 or more) at `at`; 0 when there is
 * none.
 */
size_t utf8_length(const unsigned char *at, size_t left);

/* Adds `bytes` in base64 (RFC 4648, padded). */
void base64_add(struct buf *out, struct bytes bytes);

/* Decodes base64 as strictly as RFC 4648 section 3 asks (the standard alphabet, padded, nothing
 * else), in place: the bytes of `text` must be the caller's to change, and `out` borrows from
 * them. False: not base64; `out` is untouched and `text` is spoilt. */
bool base64_decode(struct bytes text, struct bytes *out);

/* Adds the bytes as two digits of 0-9a-f each. */
void hex_add(struct buf *out, const void *at, size_t len);

/* Exactly `len` bytes from their digits. False: these are none, and `to` has no meaning. */
bool hex_read(struct bytes text, void *to, size_t len);

/* A whole number in decimal: digits and nothing else; the same with or without a minus. False:
 * it is none, and `number` has no meaning. One beyond the type becomes the type's largest, or
 * minus that. */
bool digits_read(struct bytes text, int64_t *number);
bool number_read(struct bytes text, int64_t *number);

#endif
