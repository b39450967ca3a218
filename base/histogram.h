/* A histogram with bounded relative error, cheap enough for every job. Its owner chooses the
 * unit.
 *
 * Log-linear buckets: values up to 64 exactly, above that 32 steps per power of two (error
 * at most 3 %), up to 2^40. A bucket includes its upper bound and not its lower one, as
 * Prometheus counts, so that a power of two is a bound. No allocation, no reset; readers take
 * differences.
 */
#ifndef DUEQ_BASE_HISTOGRAM_H
#define DUEQ_BASE_HISTOGRAM_H

#include <stdint.h>

#include "base/steps.h"

#define HISTOGRAM_STEP_BITS 5
#define HISTOGRAM_BUCKETS   (1 + STEPS_FOR(40, HISTOGRAM_STEP_BITS))

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total; /* values added */
    int64_t sum;
    int64_t max;
};

/* Negative values count as 0. */
void histogram_add(struct histogram *h, int64_t value);

/* The smallest bucket bound that at least `fraction` (0 to 1) of the values do not exceed;
 * 0 when empty. */
int64_t histogram_quantile(const struct histogram *h, double fraction);

/* How many values are at most `bound`: exact up to 64 and for powers of two; in between it
 * may leave out values up to 3 % below the bound. */
uint64_t histogram_count_up_to(const struct histogram *h, int64_t bound);

#endif
