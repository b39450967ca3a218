/* The store's link as JSON. Pure. */
#ifndef DUEQ_PROTOCOL_HTTP_STORE_ENCODE_H
#define DUEQ_PROTOCOL_HTTP_STORE_ENCODE_H

#include "base/buf.h"
#include "protocol/http/store.h"

/* The object that /v1/status tells. `breaker_since_wall_ms`: in its state. */
void store_add_status(struct buf *out, const struct http_store_numbers *n,
                      int64_t breaker_since_wall_ms);

/* ["fsync","may_evict"]: the words that are so. */
void store_add_weak(struct buf *out, const struct http_store_numbers *n);

#endif
