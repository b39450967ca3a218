#include "itests/bench/load/distribution.h"

#include <inttypes.h>

#define MAX_VALUE ((INT64_C(1) << 40) - 1)

static int64_t end_of(unsigned step)
{
    return (int64_t)steps_end(step, DISTRIBUTION_STEP_BITS);
}

void distribution_add(struct distribution *d, int64_t value)
{
    if (value < 0)
        value = 0;
    d->counts[steps_find((uint64_t)(value < MAX_VALUE ? value : MAX_VALUE),
                         DISTRIBUTION_STEP_BITS)]++;
    d->total++;
    d->sum += value;
    if (value > d->max)
        d->max = value;
}

int64_t distribution_quantile(const struct distribution *d, double fraction)
{
    int64_t end = end_of(steps_quantile(d->counts, DISTRIBUTION_STEPS, d->total, fraction));

    return end < d->max ? end : d->max;
}

double distribution_mean(const struct distribution *d)
{
    return d->total ? (double)d->sum / (double)d->total : 0;
}

void distribution_print(const struct distribution *d, FILE *out)
{
    const char *comma = "";

    fprintf(out, "[");
    for (unsigned i = 0; i < DISTRIBUTION_STEPS; i++) {
        if (!d->counts[i])
            continue;
        fprintf(out, "%s[%" PRId64 ",%" PRIu64 "]", comma, end_of(i), d->counts[i]);
        comma = ",";
    }
    fprintf(out, "]");
}
