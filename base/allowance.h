/* An allowance: so many things a second, up to a second's worth of them at once. Pure.
 *
 * It is one number, the moment when all that was taken has been made up for, so it needs no
 * timer, and can be kept by the thousand. (The field calls it GCRA, a leaky bucket.) Nothing is
 * taken in advance, so that moment is never further away than that second: somebody who gives
 * up waiting has used nothing, and a new rate holds at once.
 */
#ifndef DUEQ_BASE_ALLOWANCE_H
#define DUEQ_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define ALLOWANCE_SECOND_NS INT64_C(1000000000)
#define ALLOWANCE_MS_NS     INT64_C(1000000)

/* Zero: nothing was taken. */
struct allowance {
    int64_t whole_mono_ns;
};

/* Those that wait for one, first come, first served. Those that may have left already come
 * behind all others, or they would take the turns of those that have not.
 *
 * Others cannot wait, and are refused where there is none. Neither locks the other out: once
 * one was refused the line leaves one for those, and when that is taken the next is the line's.
 */
struct allowance_line {
    struct list here;
    struct list leaving;
    bool is_passed; /* the last one was taken by one that cannot wait */
    bool is_wanted; /* one of these was refused, and none has had its own since */
};

static inline void allowance_line_init(struct allowance_line *line)
{
    list_init(&line->here);
    list_init(&line->leaving);
    line->is_passed = line->is_wanted = false;
}

/* NULL: nobody waits. */
static inline struct list *allowance_line_first(struct allowance_line *line)
{
    struct list *first = list_first(&line->here);

    return first ? first : list_first(&line->leaving);
}

static inline bool allowance_is_whole(const struct allowance *a, int64_t now_mono_ms)
{
    return a->whole_mono_ns <= now_mono_ms * ALLOWANCE_MS_NS;
}

static inline int64_t allowance_after_one(const struct allowance *a, unsigned a_second,
                                          int64_t now_mono_ns)
{
    int64_t from_ns = a->whole_mono_ns > now_mono_ns ? a->whole_mono_ns : now_mono_ns;

    return from_ns + ALLOWANCE_SECOND_NS / a_second;
}

/* The milliseconds until there is one of `a_second` (0: there is no limit), if nobody takes it
 * before. */
static inline int64_t allowance_wait_ms(const struct allowance *a, unsigned a_second,
                                        int64_t now_mono_ms)
{
    int64_t now_mono_ns = now_mono_ms * ALLOWANCE_MS_NS, over_ns;

    if (!a_second)
        return 0;
    over_ns = allowance_after_one(a, a_second, now_mono_ns) - now_mono_ns - ALLOWANCE_SECOND_NS;
    return over_ns > 0 ? (over_ns + ALLOWANCE_MS_NS - 1) / ALLOWANCE_MS_NS : 0;
}

/* False: there is none now, and none was taken. */
static inline bool allowance_take(struct allowance *a, unsigned a_second, int64_t now_mono_ms)
{
    if (allowance_wait_ms(a, a_second, now_mono_ms) > 0)
        return false;
    if (a_second)
        a->whole_mono_ns = allowance_after_one(a, a_second, now_mono_ms * ALLOWANCE_MS_NS);
    return true;
}

/* The same for one that cannot wait. */
static inline bool allowance_take_at_once(struct allowance *a, struct allowance_line *line,
                                          unsigned a_second, int64_t now_mono_ms)
{
    bool is_behind = allowance_line_first(line) && line->is_passed;

    line->is_wanted = is_behind || !allowance_take(a, a_second, now_mono_ms);
    line->is_passed |= !line->is_wanted;
    return !line->is_wanted;
}

/* Takes one for the first of the line: 0. Or the milliseconds until there is one for it. */
static inline int64_t allowance_take_in_line(struct allowance *a, struct allowance_line *line,
                                             unsigned a_second, int64_t now_mono_ms)
{
    bool leaves_one = line->is_wanted && !line->is_passed && a_second > 1;
    struct allowance used = *a;
    int64_t ms;

    if (leaves_one)
        used.whole_mono_ns = allowance_after_one(a, a_second, now_mono_ms * ALLOWANCE_MS_NS);
    ms = allowance_wait_ms(&used, a_second, now_mono_ms);
    if (ms == 0) {
        (void)allowance_take(a, a_second, now_mono_ms);
        line->is_passed = false;
    }
    return ms;
}

#endif
