/* A run: a cluster and its faults, made from a seed, and the verdict. */
#ifndef DUEQ_HA_SIM_WORLD_H
#define DUEQ_HA_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct sim_result {
    unsigned faults, leads, acked, fenced, zk_leaders;
    int64_t longest_ms; /* longest time without a leader, with single faults of one node */
    int64_t back_ms;    /* longest time until a leader was back after all was mended */
    int64_t lasted_ms;  /* virtual time of the run */
};

/* True: all promises were kept. Else sim_failure() names the broken one, and sim_trace_dump()
 * prints the events before. */
bool sim_run(uint64_t seed, struct sim_result *result);

#endif
