/* The cluster, and the store as a node sees it, as JSON. Pure. */
#ifndef DUEQ_PROTOCOL_API_CLUSTER_ENCODE_H
#define DUEQ_PROTOCOL_API_CLUSTER_ENCODE_H

#include <stdbool.h>

#include "base/buf.h"
#include "protocol/api/report.h"
#include "protocol/api/cluster_check.h"

/* Buckets that are not reached, put together by their master and the reason: an operator wants
 * to hear of each trouble once, not 22 times. Pure. */

/* Is it the first of its group? Then `is_same` finds the others behind it. */
bool unreached_is_first(const struct store_numbers *n, unsigned i);

/* The group that begins with `first`: "bucket 3", "buckets 3, 7 to 9". */
void unreached_print(struct buf *to, const struct store_numbers *n, unsigned first);

/* The same group for people: why its topics stand still; and what to do. */
void unreached_describe(struct buf *to, const struct store_numbers *n, unsigned first);
const char *unreached_advice(const struct store_unreached *u);

/* NULL: it is reached. */
const struct store_unreached *unreached_find(const struct store_numbers *n, unsigned bucket);

/* The store's link as JSON. Pure. */

/* The object that /v1/status tells. `breaker_since_wall_ms`: in its state. */
void store_add_status(struct buf *out, const struct store_numbers *n,
                      int64_t breaker_since_wall_ms);

/* ["fsync","may_evict"]: the words that are so. */
void store_add_weak(struct buf *out, const struct store_numbers *n);

/* The page of GET /v1/cluster. Of a node that `is_alone` only `refused` is looked at. */
void cluster_add_page(struct buf *out, const char *node, const struct cluster_status *s,
                      bool is_alone, const struct cluster_report *report);

/* The few facts that /v1/status tells. */
void cluster_add_summary(struct buf *out, const struct cluster_status *s);

#endif
