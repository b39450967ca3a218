/* Mistakes planted on purpose: the judge must find each within some seeds, else the simulation
 * proves nothing. Some are in the simulation's own parts; the others replace a function of the
 * core at link time (--wrap), because the core has no hooks.
 */
#ifndef DUEQ_HA_SIM_PLANT_H
#define DUEQ_HA_SIM_PLANT_H

#include <stdbool.h>

/*    name             word              what */
#define PLANT_LIST(X)                                                                      \
    X(NONE, "none", "no mistake")                                                          \
    X(PING_LEASE, "ping-lease", "a request that any server answers proves the lease")      \
    X(WRITE_LEASE, "write-lease", "an acknowledged write proves the lease for 2T/3 alone") \
    X(NO_FENCE, "no-fence", "the store takes any token")                                   \
    X(NO_FENCE_JOBS, "no-fence-jobs", "the same, and only what happens to jobs may tell")  \
    X(EOF_IS_DEATH, "eof-is-death", "a peer's closed connection is taken for its death")   \
    X(FORGETS_PROMISE, "forgets-promise", "a member forgets what it promised a leader")    \
    X(NO_STEP_DOWN, "no-step-down", "a leader goes on when its lease has ended")

enum plant {
#define X(name, word, what) PLANT_##name,
    PLANT_LIST(X)
#undef X
        PLANT_COUNT
};

bool sim_plant(const char *word); /* false: there is no such mistake */
bool sim_is_planted(enum plant plant);
void sim_plant_list(void); /* to standard output */

#endif
