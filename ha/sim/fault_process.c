/* Faults of processes, nodes' and ZooKeeper's: they die, freeze, stutter and stop; of the links
 * between ZooKeeper's servers; and operators' requests.
 */
#include <stdlib.h>
#include <string.h>

#include "ha/sim/fault_kinds.h"

/* An operator's request lives until it is answered. */
struct request {
    struct ha_command command;
    char to[HA_NODE_MAX + 1];
};

/* ---- processes ---- */

static void freeze(struct sim_fault *f)
{
    sim_node_freeze(f->a, true);
}

static void thaw(struct sim_fault *f)
{
    sim_node_freeze(f->a, false);
}

/* A loop that is late again and again. */
static void on_stutter(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    sim_node_freeze(f->a, !sim_fault_node(f)->is_frozen);
    sim_fault_arm(timer, sim_between(1, sim_fault_node(f)->is_frozen ? 400 : 150));
}

static void stutter(struct sim_fault *f)
{
    sim_fault_arm(&f->pulse, 0);
}

static void start(struct sim_fault *f)
{
    sim_node_start(f->a);
}

/* The kernel tells the warden of the worker's death: the warden ends the session, if it can,
 * and starts another worker. */
static void on_warden(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (!sim_fault_node(f)->ha && f->mode < 3)
        sim_zk_end_session(&f->dead);
}

static void kill_worker(struct sim_fault *f)
{
    f->dead = sim_fault_node(f)->zk.zk.base.credentials;
    sim_node_kill_worker(f->a);
    sim_fault_arm(&f->pulse, sim_between(1, 20));
}

static void kill_both(struct sim_fault *f)
{
    sim_node_kill(f->a);
}

static void vanish(struct sim_fault *f)
{
    sim_fault_node(f)->has_vanished = true;
    sim_node_kill(f->a);
}

static void kill_all(struct sim_fault *f)
{
    for (unsigned i = 0; i < SIM_NODES; i++)
        sim_node_kill(i);
}

static void start_all(struct sim_fault *f)
{
    for (unsigned i = 0; i < SIM_NODES; i++)
        sim_node_start(i);
}

/* After SIGTERM the node has given its lead away and left: its process ends. */
static void on_stopped(void *arg)
{
    struct sim_node *n = arg;

    sim_trace("%s: has stopped", n->name);
}

static void stop(struct sim_fault *f)
{
    if (!sim_node_runs(sim_fault_node(f)) || sim_fault_node(f)->is_stopping)
        return;
    sim_trace("%s: stops", sim_fault_node(f)->name);
    sim_fault_node(f)->is_stopping = true;
    ha_stop(sim_fault_node(f)->ha, on_stopped, sim_fault_node(f));
}

static void start_again(struct sim_fault *f)
{
    if (!sim_fault_node(f)->is_stopping)
        return;
    sim_node_kill(f->a);
    sim_node_start(f->a);
}

/* ---- operators ---- */

static void on_request_done(struct ha_command *command)
{
    struct request *w = CONTAINER_OF(command, struct request, command);

    sim_trace("operator: %s %s", status_word(command->status), command->why);
    free(w);
}

static void request(struct sim_fault *f)
{
    struct request *w;

    if (!sim_node_runs(sim_fault_node(f)))
        return;
    w = must(calloc(1, sizeof(*w)));
    w->command.request = f->mode < 2 ? HA_SWITCHOVER : HA_FAILOVER;
    strcpy(w->to, sim_nodes[f->b].name);
    w->command.to = w->to;
    w->command.on_done = on_request_done;
    sim_trace("operator: asks %s for %s to %s", sim_fault_node(f)->name,
              f->mode < 2 ? "a switchover" : "a failover by force", w->to);
    ha_command(sim_fault_node(f)->ha, &w->command);
}

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

/* ---- the tables ---- */

const struct sim_fault_kind sim_process_kinds[] = {
    {"freeze", SIM_SCOPE_NODE, 10, 3 * SIM_T, freeze, thaw, NULL, false},
    {"stutter", SIM_SCOPE_NODE, SIM_T, 4 * SIM_T, stutter, thaw, on_stutter, false},
    {"kill worker", SIM_SCOPE_NODE, 30, 500, kill_worker, start, on_warden, false},
    {"kill both", SIM_SCOPE_NODE, 30, 3 * SIM_T, kill_both, start, NULL, false},
    {"vanish", SIM_SCOPE_NODE, 500, 3 * SIM_T, vanish, start, NULL, false},
    {"stop", SIM_SCOPE_NODE, 10, 3 * SIM_T, stop, start_again, NULL, false},
    {"kill all", SIM_SCOPE_ALL, 30, SIM_T, kill_all, start_all, NULL, false},
    {"request", SIM_SCOPE_NODE, 10, 20, request, sim_fault_nothing, NULL, false},
    {.name = NULL},
};

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
