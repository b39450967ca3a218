/* Redis, as far as a leader can do harm there: jobs in buckets, and a fence in each bucket.
 *
 * Each node has a link to the store, which keeps the order of scripts and can be held for any
 * time: a script sent under a valid lease may arrive much later. The real scripts look and move
 * in one step. Here a leader first looks which jobs are due, and then has these jobs moved
 * whatever their state is by then. So only the fence keeps a deposed leader from handing out
 * jobs again that were handed out or acknowledged. Producers and consumers do not depend on a
 * leader.
 *
 * Judged here: the token of effects never goes down in a bucket; once a leader has moved a job,
 * no older token has an effect anywhere; no job is handed out early, again before its time to
 * run has ended, or after it was acknowledged; and no job is lost.
 */
#ifndef DUEQ_HA_SIM_STORE_H
#define DUEQ_HA_SIM_STORE_H

#include "ha/sim/base.h"

#define SIM_BUCKETS 4

void sim_store_init(void);
void sim_store_fini(void);
struct timers *sim_store_timers(void);

/* Takes the note, a SIM_ASSERT, SIM_LOOK or SIM_MOVE of node `from`. The answer comes on the
 * wire `back`, unless sim_store_forget() came first, because the process is gone. */
void sim_store_send(struct sim_note *n, struct fake_wire *back);
void sim_store_forget(unsigned node);
void sim_store_hold(unsigned node, bool is_held);

/* Stops new jobs; is every job acknowledged? */
void sim_store_stop_pushing(void);
bool sim_store_is_empty(void);
unsigned sim_store_acked(void);
unsigned sim_store_fenced(void);

#endif
