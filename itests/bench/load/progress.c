#include "itests/bench/load/progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define EVERY_US 1000000

void progress_init(struct progress *p, int64_t total)
{
    *p = (struct progress){.total = total, .said_us = clock_mono_us()};
}

void progress_at(struct progress *p, int64_t done)
{
    int64_t now_us = clock_mono_us();

    if (now_us - p->said_us < EVERY_US && done < p->total)
        return;
    p->said_us = now_us;
    fprintf(stderr, "progress %" PRId64 "/%" PRId64 "\n", done, p->total);
}
