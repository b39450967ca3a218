/* Faults of ZooKeeper's servers and of the links between them. */
#include "ha/sim/fault_kinds.h"

/* ---- ZooKeeper's servers ---- */

static void freeze_server(struct sim_fault *f)
{
    sim_zk_freeze(f->a, true);
}

static void thaw_server(struct sim_fault *f)
{
    sim_zk_freeze(f->a, false);
}

static void on_server_stutter(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    sim_zk_freeze(f->a, !sim_zk_is_frozen(f->a));
    sim_fault_arm(timer, sim_between(1, sim_zk_is_frozen(f->a) ? 1500 : 500));
}

static void kill_server(struct sim_fault *f)
{
    sim_zk_kill(f->a);
}

static void restart_server(struct sim_fault *f)
{
    sim_zk_restart(f->a);
}

/* Holds or releases the links from the server, to it, or both. */
static void hold_links(int server, unsigned mode, bool is_held)
{
    unsigned a = (unsigned)server;

    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        if (i == a)
            continue;
        if (mode != 0)
            sim_zk_hold(a, i, is_held);
        if (mode != 1)
            sim_zk_hold(i, a, is_held);
    }
}

static void cut_server(struct sim_fault *f)
{
    hold_links((int)f->a, f->mode, true);
}

static void join_server(struct sim_fault *f)
{
    hold_links((int)f->a, f->mode, false);
}

/* The worst moment for a lease: a node's beat comes late, and its server, or the server's
 * links, stop after the answer and before the report to ZooKeeper's leader. */
static void on_late_beat(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (sim_fault_node(f)->is_frozen) {
        sim_node_freeze(f->a, false);
        sim_fault_arm(timer, sim_between(2, sim_tick_ms / 2));
        return;
    }
    f->server = sim_client_server(&sim_fault_node(f)->zk);
    if (f->server < 0)
        return;
    if (f->mode < 3)
        hold_links(f->server, f->mode, true);
    else
        sim_zk_freeze((unsigned)f->server, true);
}

static void be_late_and_stop(struct sim_fault *f)
{
    f->server = -1;
    sim_node_freeze(f->a, true);
    sim_fault_arm(&f->pulse, sim_between(SIM_T / 4, SIM_T * 5 / 8));
}

static void go_on(struct sim_fault *f)
{
    sim_node_freeze(f->a, false);
    if (f->server < 0)
        return;
    hold_links(f->server, f->mode, false);
    sim_zk_freeze((unsigned)f->server, false);
}

static void lose_quorum(struct sim_fault *f)
{
    sim_zk_kill(f->a);
    sim_zk_kill(f->b);
    if (f->mode == 0)
        sim_zk_kill(3 - f->a - f->b);
}

static void find_quorum(struct sim_fault *f)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++)
        sim_zk_restart(i);
}

/* While ZooKeeper is away, a node that may have promised is killed and back at once. */
static void lose_quorum_and_restart(struct sim_fault *f)
{
    lose_quorum(f);
    f->a = sim_below(SIM_NODES);
    sim_fault_arm(&f->pulse, sim_between(200, 2 * SIM_T));
}

static void on_restart(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    sim_fault_restart(f->a);
    find_quorum(f);
}

/* ---- the table ---- */

const struct sim_fault_kind sim_server_kinds[] = {
    {"freeze server", SIM_SCOPE_SERVER, 10, 3 * SIM_T, freeze_server, thaw_server, NULL, true},
    {"kill server", SIM_SCOPE_SERVER, 10, 3 * SIM_T, kill_server, restart_server, NULL, true},
    {"cut server", SIM_SCOPE_SERVER, 10, 3 * SIM_T, cut_server, join_server, NULL, true},
    {"late beat, server stops", SIM_SCOPE_SERVER, SIM_T, 3 * SIM_T, be_late_and_stop, go_on,
     on_late_beat, false},
    {"server stutters", SIM_SCOPE_SERVER, SIM_T, 4 * SIM_T, freeze_server, thaw_server,
     on_server_stutter, true},
    {"no quorum", SIM_SCOPE_ALL, 10, 4 * SIM_T, lose_quorum, find_quorum, NULL, true},
    {"no quorum, restart", SIM_SCOPE_ALL, SIM_T, 3 * SIM_T, lose_quorum_and_restart,
     find_quorum, on_restart, true},
    {.name = NULL},
};
