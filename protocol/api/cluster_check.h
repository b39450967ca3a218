/* Could a failover succeed now? What stands in its way, and what to do about it. Pure. */
#ifndef DUEQ_PROTOCOL_API_CLUSTER_CHECK_H
#define DUEQ_PROTOCOL_API_CLUSTER_CHECK_H

#include <stdbool.h>

#include "protocol/api/report.h"

#define CLUSTER_FINDINGS_MAX   40
#define CLUSTER_FINDINGS_STORE 8 /* of them are reserved for the store's */

struct cluster_finding {
    bool is_error;  /* no failover would succeed; else a warning */
    char text[640]; /* room for any list of buckets; what is cut ends with "..." */
    char advice[200];
};

struct cluster_report {
    struct cluster_finding at[CLUSTER_FINDINGS_MAX]; /* errors first */
    unsigned count;
    bool can_fail_over;
};

void cluster_check(const struct cluster_status *s, struct cluster_report *report);

/* Only that finding of cluster_check(): is ZooKeeper's tickTime short enough for the lease? */
void cluster_check_ticks(const struct cluster_status *s, struct cluster_report *report);

/* The report of a standalone node. `refused`: why it moves no jobs; "": it does. */
void cluster_check_alone(const char *refused, struct cluster_report *report);

/* Adds why the store may lose jobs or keep them waiting; none of that makes a failover fail. */
void cluster_check_store(const struct store_numbers *n, struct cluster_report *report);

/* A check under way. */

struct check {
    const struct cluster_status *s;
    struct cluster_report *report;
    unsigned max;   /* findings in the report */
    bool of_errors; /* this round is for errors */
};

#endif
