#include "itests/bench/load/distribution.h"

#include <inttypes.h>

#define MAX_VALUE ((INT64_C(1) << 40) - 1)

/* Step i of the octave e holds the values whose upper 8 bits, shifted by e, are i. */
static unsigned step_of(int64_t value)
{
    uint64_t v = (uint64_t)value;
    unsigned shift;

    if (v < 2 * DISTRIBUTION_HALF)
        return (unsigned)v;
    shift = 56 - (unsigned)__builtin_clzll(v);
    return shift * DISTRIBUTION_HALF + (unsigned)(v >> shift);
}

/* The largest value that belongs to the step. */
static int64_t end_of(unsigned step)
{
    unsigned shift = step < 2 * DISTRIBUTION_HALF ? 0 : step / DISTRIBUTION_HALF - 1;

    return ((int64_t)(step - shift * DISTRIBUTION_HALF + 1) << shift) - 1;
}

void distribution_add(struct distribution *d, int64_t value)
{
    if (value < 0)
        value = 0;
    d->counts[step_of(value < MAX_VALUE ? value : MAX_VALUE)]++;
    d->total++;
    d->sum += value;
    if (value > d->max)
        d->max = value;
}

int64_t distribution_quantile(const struct distribution *d, double fraction)
{
    double wanted = fraction * (double)d->total;
    uint64_t seen = 0;

    for (unsigned i = 0; i < DISTRIBUTION_STEPS; i++) {
        seen += d->counts[i];
        if (seen > 0 && (double)seen >= wanted)
            return end_of(i) < d->max ? end_of(i) : d->max;
    }
    return d->max;
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
