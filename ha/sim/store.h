/* Redis, as far as a leader can do harm there: jobs in buckets, and in each bucket the fence.
 *
 * Scripts come over a link of each node that keeps its order and can be held for as long as one
 * likes: a script that was begun under a valid lease arrives when it arrives. The real scripts
 * look and move at once; here a leader first looks what is due and then has these moved,
 * whatever has become of them: so nothing but the fence keeps a deposed leader from handing out
 * again what was handed out, or acknowledged. Producers and consumers do not depend on a
 * leader.
 *
 * Judged here: an effect has a token that never goes down in its bucket; once a leader has
 * moved something no older token has an effect anywhere; no job is handed out early, again
 * before its time to run has ended, or after it was acknowledged; and none is lost.
 */
#ifndef DUEQ_HA_SIM_STORE_H
#define DUEQ_HA_SIM_STORE_H

#include "ha/sim/base.h"

#define SIM_BUCKETS 4

void sim_store_init(void);
void sim_store_fini(void);
struct timers *sim_store_timers(void);

/* Takes the note, a SIM_ASSERT, SIM_LOOK or SIM_MOVE of node `from`. Its answer comes on the
 * wire `back`, unless sim_store_forget() came first: that process is gone. */
void sim_store_send(struct sim_note *n, struct fake_wire *back);
void sim_store_forget(unsigned node);
void sim_store_hold(unsigned node, bool is_held);

/* No new jobs, and is all that there were acknowledged? */
void sim_store_stop_pushing(void);
bool sim_store_is_empty(void);
unsigned sim_store_acked(void);
unsigned sim_store_fenced(void);

#endif
