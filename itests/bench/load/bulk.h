/* Very many delayed jobs, quicker than the push script takes them: plain commands with up to
 * BULK_JOBS_MAX jobs each, which leave behind what the script leaves (test_load.py compares).
 * About ten times as quick. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_BULK_H
#define DUEQ_ITESTS_BENCH_LOAD_BULK_H

#include <stdint.h>

#include "itests/bench/load/options.h"

#define BULK_JOBS_MAX 1000

/* On the open link to Redis (redis.h): o->count jobs with ids from o->first_id on, o->bulk of
 * a topic at a time. Says its progress. */
void bulk_fill(const struct options *o);

#endif
