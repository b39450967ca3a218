/* Steps for counting values of any size with bounded relative error: the basis of histograms.
 *
 * Log-linear: values below 2 * 2^bits have a step each, above that each power of two is divided
 * into 2^bits equal steps. Pure arithmetic: the caller owns the array of counts.
 */
#ifndef DUEQ_BASE_STEPS_H
#define DUEQ_BASE_STEPS_H

#include <stdint.h>

/* How many steps hold all values below 2^value_bits; value_bits is more than `bits`. */
#define STEPS_FOR(value_bits, bits) (((unsigned)(value_bits) - (bits) + 1) << (bits))

static inline unsigned steps_find(uint64_t value, unsigned bits)
{
    unsigned shift;

    if (value >> bits == 0)
        return (unsigned)value;
    shift = 63u - (unsigned)__builtin_clzll(value) - bits;
    return (shift << bits) + (unsigned)(value >> shift);
}

/* The largest value that belongs to the step. */
static inline uint64_t steps_end(unsigned step, unsigned bits)
{
    unsigned shift = step >> bits ? (step >> bits) - 1 : 0;

    return ((uint64_t)(step - (shift << bits) + 1) << shift) - 1;
}

/* The first of `count` steps up to which at least `fraction` (0 to 1) of the `total` values
 * lie, and at least one value; `count` when there are no values. */
static inline unsigned steps_quantile(const uint64_t *counts, unsigned count, uint64_t total,
                                      double fraction)
{
    double wanted = fraction * (double)total;
    uint64_t seen = 0;
    unsigned step;

    for (step = 0; step < count; step++) {
        seen += counts[step];
        if (seen > 0 && (double)seen >= wanted)
            break;
    }
    return step;
}

#endif
