/* The cluster, and the store as a node sees it, as JSON. Pure. */
#ifndef DUEQ_PROTOCOL_API_CLUSTER_ENCODE_H
#define DUEQ_PROTOCOL_API_CLUSTER_ENCODE_H

#include <stdbool.h>

#include "base/buf.h"
#include "protocol/api/report.h"
#include "protocol/api/cluster_check.h"

/* The object in /v1/status. `breaker_since_wall_ms`: when the breaker came into its state. */
void store_add_status(struct buf *out, const struct store_numbers *n,
                      int64_t breaker_since_wall_ms);

/* ["fsync","may_evict"]: the words of the weaknesses that the store has now. */
void store_add_weak(struct buf *out, const struct store_numbers *n);

/* The page of GET /v1/cluster. With `is_standalone`, only `refused` of `s` is read. */
void cluster_add_page(struct buf *out, const char *node, const struct cluster_status *s,
                      bool is_standalone, const struct cluster_report *report);

/* The few facts that /v1/status tells. */
void cluster_add_summary(struct buf *out, const struct cluster_status *s);

#endif
