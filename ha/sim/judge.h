/* The promises, asserted at every step. Those of the store's effects and jobs are judged where
 * they happen, in store.c. */
#ifndef DUEQ_HA_SIM_JUDGE_H
#define DUEQ_HA_SIM_JUDGE_H

#include "ha/sim/node.h"

void sim_judge_init(void);

/* After each step: at most one node may act, each by its own clock, also those that are frozen
 * now. */
void sim_judge_step(void);

/* Tokens only grow: a lead has a higher epoch than all before, or is the newest one resumed. */
void sim_judge_role(const struct sim_node *n, const struct role *role, enum role_state before);

/* The store has refused a script of the lead that it has now: its lease must be over. */
void sim_judge_fenced(const struct sim_node *n);

/* One number is one list, for whoever is told it. */
void sim_judge_view(const struct sim_node *n);

unsigned sim_judge_leads(void);      /* different ones so far */
int64_t sim_judge_alone_ms(void);    /* since somebody may act; 0: one may */
int64_t sim_judge_longest_ms(void);  /* without anybody, since... */
void sim_judge_forget_longest(void); /* ...this was called */

#endif
