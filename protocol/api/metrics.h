/* The families of /metrics. Pure: numbers in, text out. What they mean is doc/metrics.md.
 *
 *   metrics_text.c  the format
 *   metrics.c       the engine: operations, jobs by topic and state, lateness; who leads
 *   metrics_node.c  the virtual address, the store's link, ports, the loop, the process
 *
 * status.c collects the numbers. To add one: a row in the table of its module (QUEUE_METRICS,
 * STORE_METRICS, PORT_METRICS) or of a file here, and a line in doc/metrics.md.
 */
#ifndef DUEQ_PROTOCOL_API_METRICS_H
#define DUEQ_PROTOCOL_API_METRICS_H

#include "protocol/api/api.h"
#include "protocol/api/metrics_text.h"

/* What the system says of this process, for the metrics that every program has; 0: not known.
 */
struct metrics_process {
    int64_t cpu_ms; /* used since the start, user and system */
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t open_fds;
    uint64_t max_fds; /* the soft limit */
    int64_t start_ms; /* since 1970; the same for the life of the process */
};

/* Reads /proc, in some microseconds; longer with thousands of open descriptors and Linux older
 * than 6.2. */
void metrics_process_read(struct metrics_process *p);

struct build;
struct census;
struct loop;
struct queue_stats;

/* Borrowed all. */
struct metrics {
    const struct queue_stats *queue;
    const struct census *census;          /* NULL: not known, its families are left out */
    unsigned topics_max;                  /* topics with series of their own */
    const struct cluster_status *cluster; /* NULL: the node is alone */
    bool is_fenced_alone;  /* standalone, and a cluster's leader has been at the store */
    uint64_t fenced_alone; /* answers of Redis that said so */
    struct store_numbers store;
    const struct port_stats *ports[API_PORTS_MAX];
    unsigned port_count;
    const uint64_t *http_errors; /* by enum http_error */
    unsigned identities;         /* that the node knows */
    int64_t identities_age_ms;   /* since Redis told of them; -1: it is not asked, or has not */
    const struct loop *loop;
    struct metrics_process process;
    const struct build *build;
};

/* Appends all families to `out`. */
void metrics_write(struct buf *out, const struct metrics *m);

/* metrics_node.c's. */
void metrics_write_vip(struct metrics_text *t, const struct metrics *m);
void metrics_write_store(struct metrics_text *t, const struct metrics *m);
void metrics_write_node(struct metrics_text *t, const struct metrics *m);

#endif
