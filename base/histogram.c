#include "base/histogram.h"

/* Bucket 0 is the value 0; behind it the steps are those of value - 1. */
static unsigned bucket_of(int64_t value)
{
    unsigned bucket = value ? 1 + steps_find((uint64_t)value - 1, HISTOGRAM_STEP_BITS) : 0;

    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that falls into the bucket. */
static int64_t bound_of(unsigned bucket)
{
    return bucket ? (int64_t)steps_end(bucket - 1, HISTOGRAM_STEP_BITS) + 1 : 0;
}

void histogram_add(struct histogram *h, int64_t value)
{
    if (value < 0)
        value = 0;
    h->counts[bucket_of(value)]++;
    h->total++;
    h->sum += value;
    if (value > h->max)
        h->max = value;
}

int64_t histogram_quantile(const struct histogram *h, double fraction)
{
    int64_t bound = bound_of(steps_quantile(h->counts, HISTOGRAM_BUCKETS, h->total, fraction));

    return bound < h->max ? bound : h->max;
}

uint64_t histogram_count_up_to(const struct histogram *h, int64_t bound)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && bound_of(i) <= bound; i++)
        seen += h->counts[i];
    return seen;
}
