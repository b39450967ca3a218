/* The links between the nodes: what a node asks, promises, and can know of another's death.
 *
 * Each node dials each other one that it knows. A connection ends with the process at its other
 * end, or is reset while both live; then the node dials again: a process answers (the same, or
 * another one: then the first is dead), the machine refuses (it is dead), or nothing comes.
 */
#ifndef DUEQ_HA_SIM_PEERS_H
#define DUEQ_HA_SIM_PEERS_H

#include "ha/peer/peers.h"
#include "ha/sim/base.h"

struct sim_peers {
    struct peers base;
    unsigned node;
    struct timers *timers; /* the node's */
    struct coord_credentials mine;
    unsigned process; /* another number for each process */
    bool has_left;
    struct fake_wire inbox[SIM_NODES];
    struct sim_peer {
        struct sim_peers *owner;
        bool is_wanted, is_connected;
        unsigned process;              /* that answered; 0: none yet */
        struct coord_credentials dead; /* its, as told; session 0: it told none, or left */
        struct timer dial;
    } others[SIM_NODES];
};

/* Of a new process. */
void sim_peers_init(struct sim_peers *p, unsigned node, struct timers *timers);
void sim_peers_fini(struct sim_peers *p);

/* What the others read when this process has ended: the end of their connections, where the
 * machine is still there to send it. */
void sim_peers_died(unsigned node);

/* Faults: the ways between two nodes held or let go, and all of a node's connections reset. */
void sim_peers_hold(unsigned a, unsigned b, bool is_held);
void sim_peers_reset(unsigned node);
void sim_peers_reset_all(void); /* of the world: nothing is held */

#endif
