#include "itests/bench/load/schedule.h"

#define SECOND_US INT64_C(1000000)

void schedule_init(struct schedule *s, int64_t begin_us, int64_t end_us, int64_t rate)
{
    *s = (struct schedule){.begin_us = begin_us, .rate = rate};
    s->total = ((end_us - begin_us) * rate + SECOND_US - 1) / SECOND_US;
}

int64_t schedule_at_us(const struct schedule *s, int64_t n)
{
    return s->begin_us + n * SECOND_US / s->rate;
}

bool schedule_is_over(const struct schedule *s)
{
    return s->taken == s->total;
}

bool schedule_take(struct schedule *s, int64_t now_us, int64_t *at_us)
{
    if (schedule_wait_us(s, now_us) > 0)
        return false;
    *at_us = schedule_at_us(s, s->taken++);
    return true;
}

int64_t schedule_wait_us(const struct schedule *s, int64_t now_us)
{
    int64_t at_us;

    if (schedule_is_over(s))
        return INT64_MAX;
    at_us = schedule_at_us(s, s->taken);
    return at_us > now_us ? at_us - now_us : 0;
}
