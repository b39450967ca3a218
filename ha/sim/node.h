/* A node: the process with the real ha in it, a scanner that acts when it may, and a warden. */
#ifndef DUEQ_HA_SIM_NODE_H
#define DUEQ_HA_SIM_NODE_H

#include "ha/ha.h"
#include "ha/lead/scanners.h"
#include "ha/sim/client.h"
#include "ha/sim/peers.h"
#include "ha/sim/store.h"
#include "ha/sim/zk.h"

struct sim_node {
    unsigned number;
    char name[8], address[24];
    int64_t clock_offset_ms;
    struct timers timers; /* do not run while the node is frozen */
    struct ha_options options;
    struct ha *ha; /* NULL: dead */
    struct sim_client zk;
    struct sim_peers peers;
    struct fake_wire from_store;
    bool is_frozen;
    bool is_stopping;   /* gracefully */
    bool is_dying;      /* no message of it gets out any more */
    bool has_vanished;  /* with its machine: nobody refuses a connection */
    bool is_store_down; /* the last ha_store_is() */

    /* The scanners of the last on_scanners. */
    uint64_t view;
    bool scans[SIM_NODES];

    /* The scanner's. */
    enum role_state role;
    struct token token;
    struct timer scan;
    unsigned asserted;  /* buckets asserted since it leads */
    unsigned in_flight; /* scripts */
    unsigned looking;   /* looks and moves among these */
    unsigned lead;      /* number of leads; answers of an older lead are void */
};

extern struct sim_node sim_nodes[SIM_NODES];

/* `has_preferences`: nodes have different priorities, and one may be barred from campaigning.
 * `shares`: all nodes scan. */
void sim_nodes_init(enum ha_on_loss on_loss, bool has_preferences, bool shares);
void sim_nodes_fini(void);

void sim_node_start(unsigned i);
void sim_node_kill(unsigned i);        /* warden and worker: the next is another incarnation */
void sim_node_kill_worker(unsigned i); /* the warden lives, and does nothing else here */
void sim_node_freeze(unsigned i, bool is_frozen);
void sim_node_set_store(unsigned i, bool is_up);

static inline bool sim_node_runs(const struct sim_node *n)
{
    return n->ha && !n->is_frozen;
}

/* With `shares`: has every node been told that all scan, under one number? */
bool sim_nodes_share(void);

bool sim_node_may_act(unsigned i);
int sim_acting(void); /* who may act now; -1: nobody */

#endif
