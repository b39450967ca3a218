/* The cluster as JSON. Pure. */
#ifndef DUEQ_PROTOCOL_HTTP_CLUSTER_ENCODE_H
#define DUEQ_PROTOCOL_HTTP_CLUSTER_ENCODE_H

#include "base/buf.h"
#include "protocol/http/cluster.h"
#include "protocol/http/cluster_check.h"

/* The page of GET /v1/cluster. Of a node that `is_alone` only `refused` is looked at. */
void cluster_add_page(struct buf *out, const char *node, const struct http_cluster_status *s,
                      bool is_alone, const struct cluster_report *report);

/* The few facts that /v1/status tells. */
void cluster_add_summary(struct buf *out, const struct http_cluster_status *s);

#endif
