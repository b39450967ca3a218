/* Base64 back into bytes, as strictly as RFC 4648 section 3 asks a decoder to be. */
#ifndef DUEQ_PROTOCOL_JSON_BASE64_H
#define DUEQ_PROTOCOL_JSON_BASE64_H

#include <stdbool.h>

#include "base/bytes.h"

/* Decodes `text` (the standard alphabet, padded, nothing else) in place: its bytes must be the
 * caller's to change, and `out` borrows from them. False: not base64; `out` is untouched and
 * `text` is spoilt. */
bool json_base64_decode(struct bytes text, struct bytes *out);

#endif
