/* Buckets that are not reached, put together by their master and the reason: an operator wants
 * to hear of each trouble once, not 22 times. Pure. */
#ifndef DUEQ_PROTOCOL_HTTP_UNREACHED_H
#define DUEQ_PROTOCOL_HTTP_UNREACHED_H

#include <stdbool.h>

#include "base/buf.h"
#include "protocol/http/store.h"

/* Is it the first of its group? Then `is_same` finds the others behind it. */
bool unreached_is_first(const struct http_store_numbers *n, unsigned i);
bool unreached_is_same(const struct http_store_unreached *a,
                       const struct http_store_unreached *b);

/* The group that begins with `first`: "bucket 3", "buckets 3, 7 to 9". */
void unreached_print(struct buf *to, const struct http_store_numbers *n, unsigned first);

/* The same group for people: why its topics stand still; and what to do. */
void unreached_describe(struct buf *to, const struct http_store_numbers *n, unsigned first);
const char *unreached_advice(const struct http_store_unreached *u);

/* NULL: it is reached. */
const struct http_store_unreached *unreached_find(const struct http_store_numbers *n,
                                                  unsigned bucket);

#endif
