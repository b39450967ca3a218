/* A node's process on fakes: the real ha, as it begins and as it is killed. */
#ifndef DUEQ_HA_FAKE_PROCESS_H
#define DUEQ_HA_FAKE_PROCESS_H

#include "ha/fake/coordinator.h"
#include "ha/ha.h"

/* The options that all tests share; a test sets the rest. Borrows both texts. */
struct ha_options fake_process_options(const char *node, const char *address);

/* Makes and starts the ha. The caller must call ha_store_is(). */
struct ha *fake_process_begin(const struct ha_options *options, struct fake_coordinator *zk,
                              struct peers *peers, struct timers *timers);

/* Ends the calls without a good-bye, and frees `ha`. The caller ends the coordinator and the
 * timers. */
void fake_process_kill(struct ha *ha, struct fake_coordinator *zk, struct timers *timers,
                       int64_t now_mono_ms);

#endif
