/* Writing strings into JSON by hand: replies have a fixed shape, so a tree would only cost.
 *
 * JSON is text, a job's body is bytes. Bytes that are not UTF-8 are replaced by U+FFFD, and the
 * caller is told, to add the exact bytes in base64.
 */
#ifndef DUEQ_PROTOCOL_JSON_TEXT_H
#define DUEQ_PROTOCOL_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */

/* The length of the character at the front of the `left` bytes (1 or more) at `at`; 0 when
 * there is none. */
size_t utf8_length(const unsigned char *at, size_t left);

/* Adds `text` with its quotes. False when something in it was not UTF-8 and was replaced. */
bool json_add_text(struct buf *out, struct bytes text);

/* Adds `bytes` in base64 (RFC 4648, padded), with its quotes. */
void json_add_base64(struct buf *out, struct bytes bytes);

#endif
