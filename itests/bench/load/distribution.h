/* How long things took: every value, with at most 1 % error.
 *
 * base/histogram has 3 %, which suits a metric and is too coarse for the comparison of two
 * runs. Here: values below 256 exactly, above that 128 steps per power of two, up to 2^40.
 * Microseconds, but it knows no unit. Memory is fixed: 34 KiB.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_DISTRIBUTION_H
#define DUEQ_ITESTS_BENCH_LOAD_DISTRIBUTION_H

#include <stdint.h>
#include <stdio.h>

#include "base/steps.h"

#define DISTRIBUTION_STEP_BITS 7
#define DISTRIBUTION_STEPS     STEPS_FOR(40, DISTRIBUTION_STEP_BITS)

struct distribution {
    uint64_t counts[DISTRIBUTION_STEPS];
    uint64_t total;
    int64_t sum;
    int64_t max;
};

/* Negative values count as 0, those above 2^40 as 2^40 (but `max` is exact). */
void distribution_add(struct distribution *d, int64_t value);

/* The value that at least `fraction` (0 to 1) of all do not exceed, rounded up to the end of
 * its step; 0 when empty. */
int64_t distribution_quantile(const struct distribution *d, double fraction);

double distribution_mean(const struct distribution *d);

/* [[upper bound, count], ...] without the empty steps. */
void distribution_print(const struct distribution *d, FILE *out);

#endif
