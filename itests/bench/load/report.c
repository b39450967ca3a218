#include "itests/bench/load/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"

#define PROGRESS_EVERY_US 1000000

static int64_t cpu_us(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

void report_init(struct report *r, const char *mode, const struct options *o)
{
    *r = (struct report){.mode = mode, .o = o, .born_us = clock_mono_us(), .cpu_us = cpu_us()};
    r->begin_us = r->born_us + (o->total ? 0 : WARM_UP_US);
    r->end_us = o->total ? INT64_MAX : r->begin_us + o->seconds * 1000000;
}

static bool is_measured(const struct report *r, int64_t at_us)
{
    return at_us >= r->begin_us && at_us < r->end_us;
}

void report_add(struct report *r, int64_t since_us, int64_t now_us)
{
    r->ended_in_time += is_measured(r, now_us);
    if (!is_measured(r, r->o->rate ? since_us : now_us))
        return;
    r->operations++;
    distribution_add(&r->took, now_us - since_us);
}

void report_add_value(struct report *r, int64_t value_us)
{
    r->operations++;
    r->ended_in_time++;
    distribution_add(&r->took, value_us);
}

bool report_is_over(const struct report *r, int64_t now_us)
{
    return now_us >= r->end_us;
}

static void print_count(const char *name, uint64_t value)
{
    printf(",\"%s\":%" PRIu64, name, value);
}

static void print_quantiles(const struct distribution *took)
{
    static const struct {
        const char *name;
        double fraction;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};

    printf(",\"mean_us\":%.1f", distribution_mean(took));
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
        printf(",\"%s_us\":%" PRId64, quantiles[i].name,
               distribution_quantile(took, quantiles[i].fraction));
}

void report_print(const struct report *r)
{
    const struct options *o = r->o;
    double seconds = (double)(r->end_us - r->begin_us) / 1e6;
    double lived_us = (double)(clock_mono_us() - r->born_us);

    printf("{\"mode\":\"%s\",\"protocol\":\"%s\",\"loop\":\"%s\"", r->mode, o->protocol,
           o->rate ? "open" : "closed");
    print_count("connections", (uint64_t)o->connections);
    print_count("pipeline", (uint64_t)o->pipeline);
    print_count("rate", (uint64_t)o->rate);
    printf(",\"seconds\":%.3f", seconds);
    print_count("operations", r->operations);
    printf(",\"per_second\":%.1f", (double)r->ended_in_time / seconds);
    print_quantiles(&r->took);
    print_count("errors", r->errors);
    print_count("empty", r->empty);
    print_count("unfinished", r->unfinished);
    print_count("early", r->early);
    print_count("unmatched", r->unmatched);
    print_count("doubles", r->doubles);
    printf(",\"send_late_p99_us\":%" PRId64, distribution_quantile(&r->send_us, 0.99));
    printf(",\"cpu_percent\":%.1f", 100 * (double)(cpu_us() - r->cpu_us) / lived_us);
    print_count("cpu_us", (uint64_t)(cpu_us() - r->cpu_us));
    print_count("bytes_sent", r->bytes_sent);
    print_count("bytes_received", r->bytes_received);
    printf(",\"distribution\":");
    distribution_print(&r->took, stdout);
    printf("}\n");
}

void progress_init(struct progress *p, int64_t total)
{
    *p = (struct progress){.total = total, .said_us = clock_mono_us()};
}

void progress_at(struct progress *p, int64_t done)
{
    int64_t now_us = clock_mono_us();

    if (now_us - p->said_us < PROGRESS_EVERY_US && done < p->total)
        return;
    p->said_us = now_us;
    fprintf(stderr, "progress %" PRId64 "/%" PRId64 "\n", done, p->total);
}
