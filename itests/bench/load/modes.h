/* What the load generator can do. Each mode runs to its end and prints one JSON object.
 *
 * Every mode that measures reports: mode, protocol, loop ("open" or "closed"), connections,
 * pipeline, rate, seconds, operations, per_second (of those that ended in time), mean_us,
 * p50_us, p90_us, p99_us, p999_us, max_us, errors, empty (pops without a job), unfinished
 * (open loop: given up), early, unmatched and doubles (lateness), send_late_p99_us (open loop:
 * the generator's own slowness; lateness: how far the pushes were behind their time),
 * cpu_percent (the generator's own), cpu_us (the same, all of it), bytes_sent and
 * bytes_received (over all connections, the warm-up included), and "distribution": [[upper
 * bound in us, count], ...], rising, without empty steps. In lateness all latencies are
 * received minus due, and the seconds are from the first that is due to the last ack.
 *
 * handshakes: an operation is a handshake, `empty` are those without a ticket.
 * fill:  {"mode","operations","seconds"}; each second `progress N/M` on standard error.
 * idle:  {"mode","protocol","connections","say"} as soon as all are connected and have said
 *        it; then it holds them until its standard input ends.
 * echo:  {"mode","protocol","port"}, then serves until its standard input ends.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_MODES_H
#define DUEQ_ITESTS_BENCH_LOAD_MODES_H

#include "itests/bench/load/options.h"

/* clang-format off */
/*    name          --delay and --rate without one; what it does */
#define MODE_LIST(X)                                                                          \
    X(push,         3600,    0, "pushes")                                                     \
    X(cycle,           0,    0, "push, pop, ack in turn")                                     \
    X(pop,             0,    0, "pop what is ready, and keep it")                             \
    X(pop_ack,         0,    0, "pop and ack what is ready (fill it with fill --delay 0)")    \
    X(lateness,        2, 1000, "--rate jobs a second due, --connections consumers waiting")  \
    X(handshakes,      0,    0, "TLS: come, shake hands and leave, --connections at a time")   \
    X(idle,         3600,    0, "--connections are opened, --say something, and held")        \
    X(echo,            0,    0, "a server that does nothing, for measuring this program")     \
    X(direct_push,  3600,    0, "Redis: the push script, --depth in flight")                  \
    X(direct_cycle,    0,    0, "Redis: the scripts push, pop, ack, --depth in flight")       \
    X(direct_writes,3600,    0, "Redis: --total pushes' bare writes, without a script")       \
    X(fill,         3600,    0, "Redis: --count jobs, due at --at-ms; --bulk 1000: quickly")
/* clang-format on */

#define X(name, delay, rate, text) void mode_##name(const struct options *o);
MODE_LIST(X)
#undef X

#endif
