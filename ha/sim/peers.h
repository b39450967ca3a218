/* The links between the nodes: questions, promises, and proofs of another node's death.
 *
 * Each node dials each other node that it knows. A connection ends with the process at its
 * other end, or is reset while both live. Then the node dials again, with one of three
 * outcomes: a process answers (if it is another one, the first is dead), the machine refuses
 * (the process is dead), or nothing comes.
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
        unsigned process;              /* the process that answered; 0: none yet */
        struct coord_credentials dead; /* its reported session; 0: none, or it has left */
        struct timer dial;
    } others[SIM_NODES];
};

/* For a new process. */
void sim_peers_init(struct sim_peers *p, unsigned node, struct timers *timers);
void sim_peers_fini(struct sim_peers *p);

/* The process has ended: the other nodes read the end of their connections, if its machine is
 * still there to send it. */
void sim_peers_died(unsigned node);

/* Faults: hold or release the links between two nodes; reset all connections of a node. */
void sim_peers_hold(unsigned a, unsigned b, bool is_held);
void sim_peers_reset(unsigned node);
void sim_peers_reset_all(void); /* for a new run: no link is held */

#endif
