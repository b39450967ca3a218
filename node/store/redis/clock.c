#include "node/store/redis/clock.h"

int64_t redis_clock_read(struct redis_clock *c, int64_t theirs_ms, int64_t sent_mono_ms,
                         int64_t read_mono_ms)
{
    int64_t least_ms = theirs_ms - read_mono_ms, most_ms = theirs_ms - sent_mono_ms;
    int64_t jump_ms = 0;

    if (c->is_known && least_ms > c->most_ms + REDIS_CLOCK_JUMP_MS)
        jump_ms = least_ms - c->most_ms;
    else if (c->is_known && most_ms < c->least_ms - REDIS_CLOCK_JUMP_MS)
        jump_ms = most_ms - c->least_ms;
    if (!c->is_known || jump_ms != 0 || most_ms - least_ms <= REDIS_CLOCK_WIDE_MS) {
        c->is_known = true;
        c->least_ms = least_ms;
        c->most_ms = most_ms;
    }
    return jump_ms;
}
