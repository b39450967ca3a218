/* Faults, by seed: a table of kinds, each with a beginning and an end. */
#ifndef DUEQ_HA_SIM_FAULTS_H
#define DUEQ_HA_SIM_FAULTS_H

#include "ha/sim/node.h"

/* The part of the cluster that a fault touches; the rest must go on meanwhile. */
enum sim_scope {
    SIM_SCOPE_NODE,   /* one node, or its links: the others go on */
    SIM_SCOPE_CUT,    /* as NODE, and what it sends to ZooKeeper arrives when the fault ends */
    SIM_SCOPE_DEAF,   /* as NODE, but ZooKeeper hears it until it gives its connection up */
    SIM_SCOPE_SERVER, /* one server: ZooKeeper goes on, after a while */
    SIM_SCOPE_ALL,    /* ZooKeeper is away */
};

struct sim_fault;

/* Begins a random fault, which ends by itself. Returns the time of its end. */
int64_t sim_fault_begin(enum sim_scope *scope);
unsigned sim_fault_count(void); /* since sim_faults_init() */

/* Ends all faults, and mends everything. */
void sim_faults_end(void);

void sim_faults_init(struct timers *world);

#endif
