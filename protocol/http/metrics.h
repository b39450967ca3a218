/* The families of /metrics. Pure: numbers in, text out. What they mean is doc/metrics.md.
 *
 *   metrics_text.c     the format
 *   metrics.c    the engine's: operations, jobs, lateness
 *   metrics.c     how many jobs there are, by topic and state
 *   metrics_cluster.c  who leads
 *   metrics_node.c      the virtual address
 *   metrics_node.c    the store's link
 *   metrics_node.c     ports, the loop, the process
 *   metrics_process.c  what the system says of the process
 *   metrics_get.c      collects the numbers, and answers GET /metrics
 *
 * To add a number: a line in one of the tables, and one in doc/metrics.md.
 */
#ifndef DUEQ_PROTOCOL_HTTP_METRICS_H
#define DUEQ_PROTOCOL_HTTP_METRICS_H

#include "protocol/http/http.h"
#include "protocol/http/metrics_process.h"
#include "protocol/http/metrics_text.h"

struct build;
struct census;
struct loop;
struct queue_stats;

/* Borrowed all. */
struct metrics {
    const struct queue_stats *queue;
    const struct census *census;               /* NULL: not known, its families are left out */
    unsigned topics_max;                       /* topics with series of their own */
    const struct http_cluster_status *cluster; /* NULL: the node is alone */
    bool is_fenced_alone;                      /* it is, and does not lead all the same */
    uint64_t fenced_alone;                     /* answers of Redis that said so */
    struct http_store_numbers store;
    struct http_protocol_numbers
        protocols[1 + HTTP_PROTOCOLS_MAX]; /* HTTP itself, and the others */
    unsigned protocol_count;
    const struct http_stats *http;
    const struct loop *loop;
    struct metrics_process process;
    const struct build *build;
};

/* Appends all families to `out`. */
void metrics_write(struct buf *out, const struct metrics *m);
void metrics_write_cluster(struct metrics_text *t, const struct metrics *m);
void metrics_write_vip(struct metrics_text *t, const struct metrics *m);
void metrics_write_store(struct metrics_text *t, const struct metrics *m);
void metrics_write_node(struct metrics_text *t, const struct metrics *m);

#endif
