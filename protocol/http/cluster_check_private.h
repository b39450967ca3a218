/* What the files of cluster_check.h share. */
#ifndef DUEQ_PROTOCOL_HTTP_CLUSTER_CHECK_PRIVATE_H
#define DUEQ_PROTOCOL_HTTP_CLUSTER_CHECK_PRIVATE_H

#include "protocol/http/cluster_check.h"

struct check {
    const struct http_cluster_status *s;
    struct cluster_report *report;
    unsigned max;   /* findings in the report */
    bool of_errors; /* this round is for errors */
};

/* Adds a finding, where it is of this round. */
void check_find(struct check *c, bool is_error, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Does the node's Redis, its membership in ZooKeeper, its mode let it scan? In cluster mode. */
void check_sharing(struct check *c);

#endif
