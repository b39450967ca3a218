/* Writing JSON by hand: replies have a fixed shape, so a tree would only cost.
 *
 * JSON is text, a job's body is bytes. Bytes that are not UTF-8 are replaced by U+FFFD, and the
 * caller is told, to add the exact bytes in base64.
 */
#ifndef DUEQ_PROTOCOL_JSON_WRITE_H
#define DUEQ_PROTOCOL_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Adds `text` with its quotes. False when something in it was not UTF-8 and was replaced. */
bool json_add_text(struct buf *out, struct bytes text);

/* Adds `bytes` in base64 (RFC 4648, padded), with its quotes. */
void json_add_base64(struct buf *out, struct bytes bytes);

/* A comma, unless a list or an object was just opened: call before each item of one. */
void json_next(struct buf *out);

/* Members. `before` is all that stands before the value: "{\"id\":" or ",\"id\":". */

void json_put_text(struct buf *out, const char *before, struct bytes text);
void json_put_number(struct buf *out, const char *before, int64_t number);
void json_put_bool(struct buf *out, const char *before, bool is_true);

/* The text; and where something in it was replaced, the exact bytes behind it, as another
 * member with this `before_base64`. */
void json_put_bytes(struct buf *out, const char *before, struct bytes bytes,
                    const char *before_base64);

/* null for NULL and "", and for a negative number */
void json_put_text_or_null(struct buf *out, const char *before, const char *text);
void json_put_number_or_null(struct buf *out, const char *before, int64_t number);

#endif
