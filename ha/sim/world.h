/* A run: a cluster by a seed, its faults, and the verdict. */
#ifndef DUEQ_HA_SIM_WORLD_H
#define DUEQ_HA_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct sim_result {
    unsigned faults, leads, acked, fenced, zk_leaders;
    int64_t longest_ms; /* without a leader, in a run of single faults of one node */
    int64_t back_ms;    /* longest until a leader was back after all was mended */
    int64_t lasted_ms;  /* virtual */
};

/* True: all promises were kept. Else sim_failure() says which was not, and sim_trace_dump()
 * what happened before. */
bool sim_run(uint64_t seed, struct sim_result *result);

#endif
