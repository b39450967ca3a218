#include "base/histogram.h"

#define STEP_BITS 5 /* 32 steps per power of two */
#define STEPS     (1 << STEP_BITS)

/* Bucket 0 is the value 0; behind it the steps are those of value - 1. */
static unsigned bucket_of(int64_t value)
{
    uint64_t v = (uint64_t)value - 1;
    unsigned shift;

    if (value == 0)
        return 0;
    if (v < STEPS)
        return (unsigned)v + 1;
    shift = 63u - (unsigned)__builtin_clzll(v) - STEP_BITS;
    v = (uint64_t)(shift + 1) * STEPS + ((v >> shift) - STEPS) + 1;
    return v < HISTOGRAM_BUCKETS ? (unsigned)v : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that falls into the bucket. */
static int64_t bound_of(unsigned bucket)
{
    unsigned step, shift;

    if (bucket <= STEPS)
        return bucket;
    step = bucket - 1;
    shift = step / STEPS - 1;
    return ((int64_t)(STEPS + step % STEPS) + 1) << shift;
}

void histogram_add(struct histogram *h, int64_t value_ms)
{
    if (value_ms < 0)
        value_ms = 0;
    h->counts[bucket_of(value_ms)]++;
    h->total++;
    h->sum_ms += value_ms;
    if (value_ms > h->max_ms)
        h->max_ms = value_ms;
}

int64_t histogram_quantile(const struct histogram *h, double fraction)
{
    double wanted = fraction * (double)h->total;
    uint64_t seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > 0 && (double)seen >= wanted)
            return bound_of(i) < h->max_ms ? bound_of(i) : h->max_ms;
    }
    return 0;
}

uint64_t histogram_count_up_to(const struct histogram *h, int64_t bound_ms)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && bound_of(i) <= bound_ms; i++)
        seen += h->counts[i];
    return seen;
}
