#include "itests/bench/load/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

void report_init(struct report *r, const char *mode, int64_t seconds)
{
    *r = (struct report){.mode = mode, .begin_us = clock_mono_us() + WARM_UP_US};
    r->end_us = r->begin_us + seconds * 1000000;
}

void report_add(struct report *r, int64_t since_us, int64_t now_us)
{
    if (now_us < r->begin_us || now_us > r->end_us)
        return;
    r->operations++;
    histogram_add(&r->latency_us, now_us - since_us);
}

bool report_is_over(const struct report *r, int64_t now_us)
{
    return now_us > r->end_us;
}

static int64_t quantile(const struct report *r, double fraction)
{
    return histogram_quantile(&r->latency_us, fraction);
}

void report_print(const struct report *r)
{
    double seconds = (double)(r->end_us - r->begin_us) / 1e6;

    printf("{\"mode\":\"%s\",\"seconds\":%.3f,\"operations\":%" PRIu64 ",\"per_second\":%.0f,"
           "\"p50_us\":%" PRId64 ",\"p90_us\":%" PRId64 ",\"p99_us\":%" PRId64
           ",\"p999_us\":%" PRId64 ",\"max_us\":%" PRId64 ",\"early\":%" PRIu64
           ",\"unmatched\":%" PRIu64 "}\n",
           r->mode, seconds, r->operations, (double)r->operations / seconds, quantile(r, 0.5),
           quantile(r, 0.9), quantile(r, 0.99), quantile(r, 0.999), r->latency_us.max_ms,
           r->early, r->unmatched);
}
