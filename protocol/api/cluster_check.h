/* Could a failover succeed now? What stands in its way, and what to do about it. Pure. */
#ifndef DUEQ_PROTOCOL_API_CLUSTER_CHECK_H
#define DUEQ_PROTOCOL_API_CLUSTER_CHECK_H

#include <stdbool.h>

#include "base/buf.h"
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

/* Unreached buckets, grouped by master and reason: an operator wants to hear of each fault
 * once, not 22 times. */

bool unreached_is_same(const struct store_unreached *a, const struct store_unreached *b);

/* Is `unreached[i]` the first of its group? */
bool unreached_is_first(const struct store_numbers *n, unsigned i);

/* The group that begins with `first`: "bucket 3", "buckets 3, 7 to 9". */
void unreached_print(struct buf *to, const struct store_numbers *n, unsigned first);

/* The same group for people: why its topics stand still; and what to do. */
void unreached_describe(struct buf *to, const struct store_numbers *n, unsigned first);
const char *unreached_advice(const struct store_unreached *u);

/* NULL: the bucket is reached. */
const struct store_unreached *unreached_find(const struct store_numbers *n, unsigned bucket);

#endif
