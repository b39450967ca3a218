/* Redis, as far as a leader can do harm there: jobs in buckets, and in each bucket the fence.
 *
 * Scripts come over a link of each node that keeps its order and can be held for as long as one
 * likes: a script that was begun under a valid lease arrives when it arrives. Producers and
 * consumers are the simulation's own: they do not depend on a leader.
 *
 * Judged here: an effect has a token that never goes down in its bucket; once a leader has had
 * an effect by a scan no older token has one anywhere; no job is moved early, handed out twice
 * without its time to run having ended, or lost.
 */
#ifndef DUEQ_HA_SIM_STORE_H
#define DUEQ_HA_SIM_STORE_H

#include "ha/sim_base.h"

#define SIM_BUCKETS 4

void sim_store_init(void);
void sim_store_fini(void);
struct timers *sim_store_timers(void);

/* Takes the note, a SIM_ASSERT or SIM_SCAN of node `from`. Its answer, SIM_DONE or SIM_FENCED,
 * comes on the wire `back`, unless sim_store_forget() came first: that process is gone. */
void sim_store_send(struct sim_note *n, struct fake_wire *back);
void sim_store_forget(unsigned node);
void sim_store_hold(unsigned node, bool is_held);

/* No new jobs, and is all that there were acknowledged? */
void sim_store_stop_pushing(void);
bool sim_store_is_empty(void);
unsigned sim_store_acked(void);
unsigned sim_store_fenced(void);

#endif
