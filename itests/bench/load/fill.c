#include "itests/bench/load/fill.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "itests/bench/load/bulk.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/redis.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/supply.h"

static void push(const struct fill *f, struct op *op, int64_t n)
{
    char id[24];
    int len = snprintf(id, sizeof(id), "%" PRId64, f->first_id + n);

    redis_set_topic(op, (unsigned)(n % f->topics));
    redis_fill_in_push(op, f->first_id ? bytes_of(id, (size_t)len) : BYTES(""));
    op->in.push.at_ms = f->at_ms + (f->rate ? n * 1000 / f->rate : 0);
    redis_append(op);
}

void fill(const struct fill *f)
{
    struct op op = {0};
    struct progress progress;
    int64_t sent = 0;

    progress_init(&progress, f->count);
    for (int64_t taken = 0; taken < f->count; taken++) {
        while (sent < f->count && sent - taken < f->depth)
            push(f, &op, sent++);
        redis_take(&op);
        progress_at(&progress, taken + 1);
    }
}

void mode_fill(const struct options *o)
{
    struct fill f = {
        .count = o->count, .topics = o->topics, .depth = o->depth, .at_ms = o->at_ms};
    int64_t since_us = clock_mono_us();

    supply_init(o);
    redis_open(o);
    if (o->bulk)
        bulk_fill(o);
    else
        fill(&f);
    printf("{\"mode\":\"fill\",\"operations\":%" PRId64 ",\"seconds\":%.3f}\n", f.count,
           (double)(clock_mono_us() - since_us) / 1e6);
    redis_close();
    supply_fini();
}
