/* Percent-escapes and queries. Pure. */
#ifndef DUEQ_PROTOCOL_HTTP_URL_H
#define DUEQ_PROTOCOL_HTTP_URL_H

#include "base/bytes.h"

/* Resolves the escapes in place: the bytes must be the caller's to change, and it is done only
 * once. A '+' stands for itself. False: a '%' without two hexadecimal digits; `text` is spoilt
 * then. */
bool url_unescape(struct bytes *text);

/* The next "name=value" of a query, false at the end; both still escaped. */
bool url_query_next(struct bytes *rest, struct bytes *name, struct bytes *value);

/* Cuts `rest` at the first `c`, which goes away; without one, all of it comes out. */
struct bytes url_cut(struct bytes *rest, char c);

#endif
