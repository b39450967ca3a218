/* A node's process on fakes: the real ha, as it begins and as it is killed. */
#ifndef DUEQ_HA_SIM_FAKE_PROCESS_H
#define DUEQ_HA_SIM_FAKE_PROCESS_H

#include "ha/sim/fake_coordinator.h"
#include "ha/ha.h"

/* What all tests have in common; the rest is theirs. Borrows both texts. */
struct ha_options fake_process_options(const char *node, const char *address);

/* Its first word of its store, ha_store_is(), is the caller's to say. */
struct ha *fake_process_begin(const struct ha_options *options, struct fake_coordinator *zk,
                              struct peers *peers, struct timers *timers);

/* Its calls end here, nobody hears a good-bye, and `ha` is freed. The coordinator and the
 * timers are the caller's to end. */
void fake_process_kill(struct ha *ha, struct fake_coordinator *zk, struct timers *timers,
                       int64_t now_mono_ms);

#endif
