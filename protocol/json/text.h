/* Writing strings into JSON by hand: replies have a fixed shape, so a tree would only cost.
 *
 * JSON is text, a job's body is bytes. What is not UTF-8 is replaced by U+FFFD and the caller
 * is told, so that it can add the exact bytes in base64 beside it.
 */
#ifndef DUEQ_PROTOCOL_JSON_TEXT_H
#define DUEQ_PROTOCOL_JSON_TEXT_H

#include <stdbool.h>

#include "base/buf.h"

/* Adds `text` with its quotes. False when something in it was not UTF-8 and was replaced. */
bool json_add_text(struct buf *out, struct bytes text);

/* Adds `bytes` in base64 (RFC 4648, padded), with its quotes. */
void json_add_base64(struct buf *out, struct bytes bytes);

#endif
