/* What a run has to say: one line of JSON on standard output. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_REPORT_H
#define DUEQ_ITESTS_BENCH_LOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

#define WARM_UP_US 300000

struct report {
    const char *mode;
    int64_t begin_us; /* monotonic; what ends earlier belongs to the warm-up */
    int64_t end_us;   /* what ends later is not counted either */
    uint64_t operations;
    struct histogram latency_us; /* the histogram knows no unit: microseconds here */
    uint64_t early;              /* lateness: handed over before its time */
    uint64_t unmatched;          /* lateness: due time not known */
};

void report_init(struct report *r, const char *mode, int64_t seconds);

/* An operation that began at `since_us` has ended now. */
void report_add(struct report *r, int64_t since_us, int64_t now_us);

bool report_is_over(const struct report *r, int64_t now_us);
void report_print(const struct report *r);

#endif
