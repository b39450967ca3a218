/* An allowance: so many things a second, up to a second's worth of them at once. Pure.
 *
 * It is one number, the moment when all that was taken has been made up for, so it needs no
 * timer, and can be kept by the thousand. (The field calls it GCRA, a leaky bucket.)
 */
#ifndef DUEQ_BASE_ALLOWANCE_H
#define DUEQ_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#define ALLOWANCE_BURST_US INT64_C(1000000)

/* Zero: nothing was taken. */
struct allowance {
    int64_t whole_mono_us;
};

static inline bool allowance_is_whole(const struct allowance *a, int64_t now_mono_ms)
{
    return a->whole_mono_us <= now_mono_ms * 1000;
}

/* Takes one of `a_second` (0: there is no limit), also where it is not there yet: in advance,
 * behind those that others have taken so. Returns the milliseconds until it is there. */
static inline int64_t allowance_reserve(struct allowance *a, unsigned a_second,
                                        int64_t now_mono_ms)
{
    int64_t now_mono_us = now_mono_ms * 1000, over_us;

    if (!a_second)
        return 0;
    if (a->whole_mono_us < now_mono_us)
        a->whole_mono_us = now_mono_us;
    a->whole_mono_us += 1000000 / a_second;
    over_us = a->whole_mono_us - now_mono_us - ALLOWANCE_BURST_US;
    return over_us > 0 ? (over_us + 999) / 1000 : 0;
}

/* False: there is none now, and none was taken. */
static inline bool allowance_take(struct allowance *a, unsigned a_second, int64_t now_mono_ms)
{
    struct allowance after = *a;

    if (allowance_reserve(&after, a_second, now_mono_ms) > 0)
        return false;
    *a = after;
    return true;
}

#endif
