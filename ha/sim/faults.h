/* What goes wrong, by seed: a table of faults, each with a beginning and an end. */
#ifndef DUEQ_HA_SIM_FAULTS_H
#define DUEQ_HA_SIM_FAULTS_H

#include "ha/sim/node.h"

/* What a fault leaves untouched, and so what may be expected while it lasts. */
enum sim_scope {
    SIM_SCOPE_NODE,   /* one node, or what connects it: the others go on */
    SIM_SCOPE_DEAF,   /* as that, but ZooKeeper hears it until it gives its connection up */
    SIM_SCOPE_SERVER, /* one server: ZooKeeper goes on, after a while */
    SIM_SCOPE_ALL,    /* ZooKeeper is away */
};

struct sim_fault;

/* Begins one by the dice; it ends by itself. Returns when. */
int64_t sim_fault_begin(enum sim_scope *scope);
unsigned sim_fault_count(void); /* since sim_faults_init() */

/* Ends all that are on, and mends everything. */
void sim_faults_end(void);

void sim_faults_init(struct timers *world);

#endif
