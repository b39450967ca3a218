/* The writes of a delayed push as plain commands, one after the other and without a script, so
 * that what the script adds can be told. Their keys are nobody's: a node on the same Redis does
 * not look at them. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/redis.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/supply.h"
#include "node/store/job.h"

#define HEADER "as.long.as.a.real.header" /* JOB_HEADER_BYTES */
#define WRITES 3
_Static_assert(sizeof(HEADER) - 1 == JOB_HEADER_BYTES, "as in a real push");

static void send_writes(const struct options *o, int64_t n)
{
    unsigned topic = (unsigned)(n % o->topics), bucket = redis_bucket_of(topic);
    struct bytes name = supply_topic(topic), body = supply_body();
    int64_t id = o->first_id + n;

    redis_append_text("INCR bare:{%u}:n", bucket);
    redis_append_text("HSET bare:{%u}:j:%b %lld " HEADER "%b", bucket, name.at, name.len,
                      (long long)id, body.at, body.len);
    redis_append_text("ZADD bare:{%u}:d:%b %lld %lld", bucket, name.at, name.len,
                      (long long)(1800000000000 + n), (long long)id);
}

static void run(const struct options *o, struct report *report)
{
    int64_t *since_us = must_calloc(o->depth, sizeof(*since_us));
    int64_t sent = 0;

    for (int64_t taken = 0; taken < o->total; taken++) {
        for (; sent < o->total && sent - taken < o->depth; sent++) {
            since_us[sent % o->depth] = clock_mono_us();
            send_writes(o, sent);
        }
        for (int i = 0; i < WRITES; i++)
            redis_take_plain();
        report_add(report, since_us[taken % o->depth], clock_mono_us());
    }
    report->end_us = clock_mono_us();
    free(since_us);
}

void mode_direct_writes(const struct options *o)
{
    struct options client = options_as_client(o);
    struct report report;

    if (!o->total)
        die("direct_writes needs a --total");
    supply_init(o);
    redis_open(o);
    report_init(&report, "direct_writes", &client);
    run(o, &report);
    report_print(&report);
    redis_close();
    supply_fini();
}
