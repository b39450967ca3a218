/* Base64 back into bytes, as strictly as RFC 4648 section 3 asks a decoder to be. */
#ifndef DUEQ_PROTOCOL_JSON_BASE64_H
#define DUEQ_PROTOCOL_JSON_BASE64_H

#include <stdbool.h>

#include "base/bytes.h"

/* `text` has the standard alphabet, padding, and nothing else. It is decoded in place, so its
 * bytes must be the caller's to change; `out` borrows from them. False: it is not base64,
 * `out` is untouched, and what `text` says now is of no use. */
bool json_base64_decode(struct bytes text, struct bytes *out);

#endif
