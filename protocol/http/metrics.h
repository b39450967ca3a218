/* Prometheus' text format, version 0.0.4. Pure: numbers in, text out. */
#ifndef DUEQ_PROTOCOL_HTTP_METRICS_H
#define DUEQ_PROTOCOL_HTTP_METRICS_H

#include "base/buf.h"
#include "protocol/http/http.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct queue_stats;

struct metrics {
    const struct queue_stats *queue;
    struct http_store_numbers store;
    struct http_protocol_numbers
        protocols[1 + HTTP_PROTOCOLS_MAX]; /* HTTP itself, and the others */
    unsigned protocol_count;
    uint64_t loop_stalls;
    int64_t loop_stall_max_ms;
    const char *version;
};

/* Appends all families to `out`. */
void metrics_write(struct buf *out, const struct metrics *m);

#endif
