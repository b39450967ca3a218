/* What the system says of this process, for the metrics that every program has. */
#ifndef DUEQ_PROTOCOL_HTTP_METRICS_PROCESS_H
#define DUEQ_PROTOCOL_HTTP_METRICS_PROCESS_H

#include <stdint.h>

/* 0: the system does not tell. */
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

#endif
