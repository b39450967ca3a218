/* What the load generator can do. Each mode runs to its end and prints a report. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_MODES_H
#define DUEQ_ITESTS_BENCH_LOAD_MODES_H

#include "itests/bench/load/options.h"

/* clang-format off */
/*    name          --delay without one; what it does */
#define MODE_LIST(X)                                                                          \
    X(push,         3600, "gmq: pushes, one under way on each connection")                    \
    X(cycle,           0, "gmq: push, pop, ack in turn on each connection")                   \
    X(pop_ack,         0, "gmq: pop and ack what is ready (fill it with fill --delay 0)")     \
    X(lateness,        2, "gmq: --rate jobs a second due, --connections consumers waiting")   \
    X(direct_push,  3600, "Redis: the push script, --depth in flight")                        \
    X(direct_cycle,    0, "Redis: the scripts push, pop, ack, --depth cycles in flight")      \
    X(fill,         3600, "Redis: --count jobs with the store's ids, due at --at-ms or --delay")
/* clang-format on */

#define X(name, delay, text) void mode_##name(const struct options *o);
MODE_LIST(X)
#undef X

#endif
