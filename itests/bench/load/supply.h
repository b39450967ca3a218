/* What requests are made of: the names of the topics and the body of the jobs. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_SUPPLY_H
#define DUEQ_ITESTS_BENCH_LOAD_SUPPLY_H

#include "base/bytes.h"
#include "itests/bench/load/options.h"

void supply_init(const struct options *o);
void supply_fini(void);

/* "bench-7" */
struct bytes supply_topic(unsigned number);

/* --body-bytes of the letter x */
struct bytes supply_body(void);

#endif
