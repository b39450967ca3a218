/* The cluster as JSON. Pure. */
#ifndef DUEQ_PROTOCOL_HTTP_CLUSTER_ENCODE_H
#define DUEQ_PROTOCOL_HTTP_CLUSTER_ENCODE_H

#include "base/buf.h"
#include "protocol/http/cluster.h"
#include "protocol/http/cluster_check.h"

/* The page of GET /v1/cluster. `s` may be NULL: this node, called `node`, is alone. */
void cluster_add_page(struct buf *out, const char *node, const struct http_cluster_status *s,
                      const struct cluster_report *report);

/* The few facts that /v1/status tells. */
void cluster_add_summary(struct buf *out, const struct http_cluster_status *s);

#endif
