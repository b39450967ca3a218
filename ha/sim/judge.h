/* The promises, asserted at every step. Promises about the store's effects and jobs are judged
 * in store.c. */
#ifndef DUEQ_HA_SIM_JUDGE_H
#define DUEQ_HA_SIM_JUDGE_H

#include "ha/sim/node.h"

void sim_judge_init(void);

/* After each step: at most one node may act, frozen nodes included, each by its own clock. */
void sim_judge_step(void);

/* Tokens only grow: a lead has a higher epoch than all before, or is the newest lead resumed.
 */
void sim_judge_role(const struct sim_node *n, const struct role *role, enum role_state before);

/* The store has refused a script of the node's present lead: its lease must be over. */
void sim_judge_fenced(const struct sim_node *n);

/* Lists of scanners with the same number are the same list at all nodes. */
void sim_judge_view(const struct sim_node *n);

unsigned sim_judge_leads(void);      /* number of different leads so far */
int64_t sim_judge_longest_ms(void);  /* the longest time in which no node may act, since... */
void sim_judge_forget_longest(void); /* ...this was called */

#endif
