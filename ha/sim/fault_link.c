/* Faults of a node's links: to ZooKeeper, to the other nodes, to the store. */
#include "ha/sim/fault_kinds.h"

/* ---- a node's links ---- */

static void cut_from_zookeeper(struct sim_fault *f)
{
    sim_trace("%s: cut from ZooKeeper%s", sim_fault_node(f)->name,
              f->mode == 0   ? ", one way out"
              : f->mode == 1 ? ", one way in"
                             : "");
    sim_client_hold(&sim_fault_node(f)->zk, f->mode != 1, f->mode != 0);
    if (f->mode == 1)
        f->scope = SIM_SCOPE_DEAF;
}

static void join_zookeeper(struct sim_fault *f)
{
    if (sim_fault_node(f)->ha)
        sim_client_hold(&sim_fault_node(f)->zk, false, false);
}

static void on_break(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (sim_node_runs(sim_fault_node(f))) {
        sim_trace("%s: its connection to ZooKeeper breaks", sim_fault_node(f)->name);
        sim_client_break(&sim_fault_node(f)->zk, sim_chance(50));
    }
    sim_fault_arm(timer, sim_between(20, 600));
}

static void break_connection(struct sim_fault *f)
{
    sim_fault_arm(&f->pulse, 0);
}

/* A round trip of T/8 leaves a lease. With much more there is no lease, and no other node can
 * have one while the session lives: see doc/ha.md. */
static void slow_by(struct sim_fault *f, int64_t most_ms)
{
    sim_fault_node(f)->zk.slow_ms = sim_between(10, most_ms);
    sim_trace("%s: %lld ms from ZooKeeper", sim_fault_node(f)->name,
              (long long)sim_fault_node(f)->zk.slow_ms);
}

static void slow(struct sim_fault *f)
{
    slow_by(f, SIM_T / 16);
}

static void very_slow(struct sim_fault *f)
{
    slow_by(f, SIM_T / 3);
}

static void quick(struct sim_fault *f)
{
    sim_fault_node(f)->zk.slow_ms = 0;
}

static void hold_peers(struct sim_fault *f, bool is_held)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (i != f->a && (f->mode < 2 || i == f->b))
            sim_peers_hold(f->a, i, is_held);
    }
}

static void cut_from_peers(struct sim_fault *f)
{
    sim_trace("%s: cut from its peers", sim_fault_node(f)->name);
    hold_peers(f, true);
}

static void join_peers(struct sim_fault *f)
{
    hold_peers(f, false);
}

static void reset_peers(struct sim_fault *f)
{
    sim_peers_reset(f->a);
    if (f->mode < 2)
        cut_from_zookeeper(f);
}

static void cut_off(struct sim_fault *f)
{
    f->mode = 3;
    cut_from_zookeeper(f);
    sim_store_hold(f->a, true);
    f->mode = 0;
    cut_from_peers(f);
}

static void join(struct sim_fault *f)
{
    join_zookeeper(f);
    sim_store_hold(f->a, false);
    join_peers(f);
}

static void hold_store(struct sim_fault *f)
{
    sim_trace("%s: its scripts wait", sim_fault_node(f)->name);
    sim_store_hold(f->a, true);
}

/* Makes scripts arrive that were sent under a lease that is long over. */
static void hold_store_and_freeze(struct sim_fault *f)
{
    hold_store(f);
    sim_node_freeze(f->a, true);
}

static void release_store(struct sim_fault *f)
{
    sim_store_hold(f->a, false);
    sim_node_freeze(f->a, false);
}

static void lose_store(struct sim_fault *f)
{
    sim_trace("%s: its Redis is away", sim_fault_node(f)->name);
    sim_node_set_store(f->a, false);
}

static void find_store(struct sim_fault *f)
{
    sim_node_set_store(f->a, true);
}

/* ---- all nodes ---- */

/* No node reaches ZooKeeper, but all reach each other. Then one after the other reaches
 * ZooKeeper again, and sessions have ended meanwhile. This tests failsafe. */
static void hold_all(bool is_held)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (sim_nodes[i].ha)
            sim_client_hold(&sim_nodes[i].zk, is_held, is_held);
    }
}

static void cut_all(struct sim_fault *f)
{
    hold_all(true);
    for (unsigned i = 0; i < SIM_NODES && f->mode != 1; i++) {
        if (sim_node_runs(&sim_nodes[i])) /* nodes notice at once */
            sim_client_break(&sim_nodes[i].zk, sim_chance(50));
    }
    sim_fault_arm(&f->pulse, sim_between(SIM_T / 2, 2 * SIM_T));
}

static void join_all(struct sim_fault *f)
{
    hold_all(false);
}

static void on_join_one(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);
    unsigned i = sim_below(SIM_NODES);

    if (f->mode == 0 && sim_chance(50))
        sim_fault_restart(i);
    sim_trace("%s: reaches ZooKeeper", sim_nodes[i].name);
    if (sim_nodes[i].ha)
        sim_client_hold(&sim_nodes[i].zk, false, false);
    sim_fault_arm(timer, sim_between(0, SIM_T));
}

/* ---- the table ---- */

const struct sim_fault_kind sim_link_kinds[] = {
    {"cut from zk", SIM_SCOPE_CUT, 10, 3 * SIM_T, cut_from_zookeeper, join_zookeeper, NULL,
     false},
    {"breaks", SIM_SCOPE_NODE, 10, 2 * SIM_T, break_connection, sim_fault_nothing, on_break,
     false},
    {"slow zk", SIM_SCOPE_NODE, SIM_T, 4 * SIM_T, slow, quick, NULL, false},
    {"very slow zk", SIM_SCOPE_ALL, SIM_T, 4 * SIM_T, very_slow, quick, NULL, false},
    {"cut from peers", SIM_SCOPE_NODE, 10, 2 * SIM_T, cut_from_peers, join_peers, NULL, false},
    {"reset peers", SIM_SCOPE_NODE, 10, 2 * SIM_T, reset_peers, join_zookeeper, NULL, false},
    {"cut off", SIM_SCOPE_CUT, 10, 3 * SIM_T, cut_off, join, NULL, false},
    {"scripts wait", SIM_SCOPE_NODE, 10, 3 * SIM_T, hold_store, release_store, NULL, false},
    {"scripts wait, frozen", SIM_SCOPE_NODE, SIM_T, 3 * SIM_T, hold_store_and_freeze,
     release_store, NULL, false},
    {"redis away", SIM_SCOPE_NODE, 10, 3 * SIM_T, lose_store, find_store, NULL, false},
    {"no way to zk", SIM_SCOPE_ALL, SIM_T, 5 * SIM_T, cut_all, join_all, on_join_one, false},
    {.name = NULL},
};
