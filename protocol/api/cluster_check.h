/* Could a failover succeed now? What stands in its way, and what to do about it. Pure. */
#ifndef DUEQ_PROTOCOL_API_CLUSTER_CHECK_H
#define DUEQ_PROTOCOL_API_CLUSTER_CHECK_H

#include <stdbool.h>

#include "protocol/api/report.h"

#define CLUSTER_FINDINGS_MAX   40
#define CLUSTER_FINDINGS_STORE 8 /* of them are left for the store's */

struct cluster_finding {
    bool is_error;  /* no failover would succeed; else: look at it */
    char text[640]; /* room for any list of buckets; what is cut ends with "..." */
    char advice[200];
};

struct cluster_report {
    struct cluster_finding at[CLUSTER_FINDINGS_MAX]; /* errors first */
    unsigned count;
    bool can_fail_over;
};

void cluster_check(const struct cluster_status *s, struct cluster_report *report);

/* Does ZooKeeper keep time as finely as a lease needs? Of cluster_check()'s, for who asks for
 * nothing else. */
void cluster_check_ticks(const struct cluster_status *s, struct cluster_report *report);

/* Of a node that is alone; `refused`: why it moves no jobs, "": it does. */
void cluster_check_alone(const char *refused, struct cluster_report *report);

/* Adds why the store may lose jobs, or keep them waiting: no failover fails for it. */
void cluster_check_store(const struct store_numbers *n, struct cluster_report *report);

/* What the files of cluster_check.h share. */

struct check {
    const struct cluster_status *s;
    struct cluster_report *report;
    unsigned max;   /* findings in the report */
    bool of_errors; /* this round is for errors */
};

#endif
