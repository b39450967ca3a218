/* How far a long step is: a line `progress N/M` on standard error, each second and at its end.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_PROGRESS_H
#define DUEQ_ITESTS_BENCH_LOAD_PROGRESS_H

#include <stdint.h>

struct progress {
    int64_t total;
    int64_t said_us;
};

void progress_init(struct progress *p, int64_t total);
void progress_at(struct progress *p, int64_t done);

#endif
