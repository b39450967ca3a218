/* What the load generator can do. Each mode runs to its end and prints a report. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_MODES_H
#define DUEQ_ITESTS_BENCH_LOAD_MODES_H

#include "itests/bench/load/options.h"

/* clang-format off */
#define MODE_LIST(X)                                                                           \
    X(push,         "gmq: pushes, one under way on each connection")                           \
    X(cycle,        "gmq: push, pop, ack in turn on each connection")                          \
    X(pop_ack,      "gmq: pop and ack what is ready (fill it with fill --delay 0)")            \
    X(lateness,     "gmq: --rate jobs a second due, --connections consumers waiting")          \
    X(direct_push,  "Redis: the push script, --depth in flight")                               \
    X(direct_cycle, "Redis: the scripts push, pop, ack, --depth cycles in flight")             \
    X(fill,         "Redis: --count jobs with the store's own ids, due at --at-ms or --delay") \
/* clang-format on */

#define X(name, text) void mode_##name(const struct options *o);
MODE_LIST(X)
#undef X

#endif
