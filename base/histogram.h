/* A histogram of milliseconds with bounded relative error, cheap enough for every job.
 *
 * Log-linear buckets: values below 32 exactly, above that 32 steps per power of two (error
 * at most 3 %), up to 2^40 ms. No allocation, no reset; readers take differences.
 */
#ifndef DUEQ_BASE_HISTOGRAM_H
#define DUEQ_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (32 + 35 * 32)

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total; /* values added */
    int64_t sum_ms;
    int64_t max_ms;
};

/* Negative values count as 0. */
void histogram_add(struct histogram *h, int64_t value_ms);

/* The smallest bucket bound that at least `fraction` (0 to 1) of the values do not exceed;
 * 0 when empty. */
int64_t histogram_quantile(const struct histogram *h, double fraction);

/* How many values are at most `bound_ms` (exact for powers of two and below 32). */
uint64_t histogram_count_up_to(const struct histogram *h, int64_t bound_ms);

#endif
