/* What a run has to say: one JSON object on standard output; modes.h lists its members. A long
 * run also says how far it is: a line `progress N/M` on standard error, each second and at its
 * end.
 *
 * A closed loop counts what ends within the measured seconds. An open loop counts what was
 * due within them, whenever it ends: the slow ones are not left out because they end late.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_REPORT_H
#define DUEQ_ITESTS_BENCH_LOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "itests/bench/load/distribution.h"
#include "itests/bench/load/options.h"

#define WARM_UP_US 300000

struct report {
    const char *mode;
    const struct options *o;
    int64_t begin_us; /* monotonic; what is earlier belongs to the warm-up */
    int64_t end_us;
    int64_t cpu_us; /* of this process, at the begin of the warm-up */
    int64_t born_us;
    uint64_t operations;      /* in `took` */
    uint64_t ended_in_time;   /* ended within the measured seconds */
    struct distribution took; /* microseconds */
    uint64_t errors;
    uint64_t empty;              /* pops that got no job */
    uint64_t unfinished;         /* open loop: waited for in vain; in `took` with their age */
    struct distribution send_us; /* open loop: sent so late; operations: with a free place */
    uint64_t early;              /* lateness: handed over before its time */
    uint64_t unmatched;          /* lateness: due time not known */
    uint64_t doubles;            /* lateness: handed over once more */
    uint64_t bytes_sent, bytes_received; /* over all connections, the warm-up included */
};

/* Measuring begins after the warm-up; with --total there is none. */
void report_init(struct report *r, const char *mode, const struct options *o);

/* An operation that began (open loop: was due) at `since_us` has ended now. */
void report_add(struct report *r, int64_t since_us, int64_t now_us);

/* Counts a value without looking when it is: lateness. */
void report_add_value(struct report *r, int64_t value_us);

/* Has the time passed? Never with --total. */
bool report_is_over(const struct report *r, int64_t now_us);
void report_print(const struct report *r);

struct progress {
    int64_t total;
    int64_t said_us;
};

void progress_init(struct progress *p, int64_t total);
void progress_at(struct progress *p, int64_t done);

#endif
