#include "ha/sim_faults.h"

#include <stdlib.h>
#include <string.h>

struct sim_fault {
    struct list link;
    const struct kind *kind;
    struct timer end;
    struct timer pulse;
    unsigned a, b; /* nodes or servers; b: another one */
    unsigned mode; /* by the dice */
    int server;    /* a node's; -1: none */
    enum sim_scope scope;
    struct coord_credentials dead;
};

struct kind {
    const char *name;
    enum sim_scope scope;
    int64_t least_ms, most_ms;
    void (*begin)(struct sim_fault *f);
    void (*end)(struct sim_fault *f);
    void (*on_pulse)(struct timer *timer);
    bool is_of_servers; /* a and b are servers, not nodes */
};

/* An operator's wish lives until it is answered. */
struct wish {
    struct ha_command command;
    char to[HA_NODE_MAX + 1];
};

static struct timers *timers;
static struct list on;
static unsigned count;

static struct sim_node *node_of(const struct sim_fault *f)
{
    return &sim_nodes[f->a];
}

/* ---- processes ---- */

/* A fault within a fault. */
static void restart(unsigned node)
{
    count++;
    sim_node_kill(node);
    sim_node_start(node);
}

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

    sim_node_freeze(f->a, !node_of(f)->is_frozen);
    sim_arm(timers, timer, sim_between(1, node_of(f)->is_frozen ? 400 : 150));
}

static void stutter(struct sim_fault *f)
{
    sim_arm(timers, &f->pulse, 0);
}

static void start(struct sim_fault *f)
{
    sim_node_start(f->a);
}

/* The warden is told by the kernel: it closes the session, if it can, and starts another. */
static void on_warden(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (!node_of(f)->ha && f->mode < 3)
        sim_zk_end_session(&f->dead);
}

static void kill_worker(struct sim_fault *f)
{
    f->dead = node_of(f)->zk.zk.base.credentials;
    sim_node_kill(f->a);
    sim_arm(timers, &f->pulse, sim_between(1, 20));
}

static void kill_both(struct sim_fault *f)
{
    sim_node_kill(f->a);
}

static void vanish(struct sim_fault *f)
{
    node_of(f)->has_vanished = true;
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

/* SIGTERM: it gives its lead away, leaves, and its process ends. */
static void on_stopped(void *arg)
{
    struct sim_node *n = arg;

    sim_trace("%s: has stopped", n->name);
}

static void stop(struct sim_fault *f)
{
    if (!sim_node_runs(node_of(f)) || node_of(f)->is_stopping)
        return;
    sim_trace("%s: stops", node_of(f)->name);
    node_of(f)->is_stopping = true;
    ha_stop(node_of(f)->ha, on_stopped, node_of(f));
}

static void start_again(struct sim_fault *f)
{
    if (!node_of(f)->is_stopping)
        return;
    sim_node_kill(f->a);
    sim_node_start(f->a);
}

/* ---- a node's links ---- */

static void cut_from_zookeeper(struct sim_fault *f)
{
    sim_trace("%s: cut from ZooKeeper%s", node_of(f)->name,
              f->mode == 0   ? ", one way out"
              : f->mode == 1 ? ", one way in"
                             : "");
    sim_client_hold(&node_of(f)->zk, f->mode != 1, f->mode != 0);
    if (f->mode == 1)
        f->scope = SIM_SCOPE_DEAF;
}

static void join_zookeeper(struct sim_fault *f)
{
    if (node_of(f)->ha)
        sim_client_hold(&node_of(f)->zk, false, false);
}

static void on_break(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (sim_node_runs(node_of(f))) {
        sim_trace("%s: its connection to ZooKeeper breaks", node_of(f)->name);
        sim_client_break(&node_of(f)->zk, sim_chance(50));
    }
    sim_arm(timers, timer, sim_between(20, 600));
}

static void break_connection(struct sim_fault *f)
{
    sim_arm(timers, &f->pulse, 0);
}

/* A round trip of T/8 leaves a lease; with much more there is none, and as long as the session
 * lives nobody else can have one: see doc/ha.md. */
static void slow_by(struct sim_fault *f, int64_t most_ms)
{
    node_of(f)->zk.slow_ms = sim_between(10, most_ms);
    sim_trace("%s: %lld ms from ZooKeeper", node_of(f)->name,
              (long long)node_of(f)->zk.slow_ms);
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
    node_of(f)->zk.slow_ms = 0;
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
    sim_trace("%s: cut from its peers", node_of(f)->name);
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
    sim_trace("%s: its scripts wait", node_of(f)->name);
    sim_store_hold(f->a, true);
}

/* Scripts that were begun under a lease that is long over. */
static void hold_store_and_freeze(struct sim_fault *f)
{
    hold_store(f);
    freeze(f);
}

static void release_store(struct sim_fault *f)
{
    sim_store_hold(f->a, false);
    thaw(f);
}

static void lose_store(struct sim_fault *f)
{
    sim_trace("%s: its Redis is away", node_of(f)->name);
    sim_node_set_store(f->a, false);
}

static void find_store(struct sim_fault *f)
{
    sim_node_set_store(f->a, true);
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

    sim_zk_freeze(f->a, !sim_zk.servers[f->a].is_frozen);
    sim_arm(timers, timer, sim_between(1, sim_zk.servers[f->a].is_frozen ? 1500 : 500));
}

static void kill_server(struct sim_fault *f)
{
    sim_zk_kill(f->a);
}

static void restart_server(struct sim_fault *f)
{
    sim_zk_restart(f->a);
}

/* From it, to it, or both. */
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

/* The worst moment for a lease: a node's beat comes late, and when its server has answered, but
 * not yet told ZooKeeper's leader of it, that server stops, or its links do. */
static void on_late_beat(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    if (node_of(f)->is_frozen) {
        thaw(f);
        sim_arm(timers, timer, sim_between(2, sim_tick_ms / 2));
        return;
    }
    f->server = sim_client_server(&node_of(f)->zk);
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
    freeze(f);
    sim_arm(timers, &f->pulse, sim_between(SIM_T / 4, SIM_T * 5 / 8));
}

static void go_on(struct sim_fault *f)
{
    thaw(f);
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

/* ZooKeeper is away, and a node that may have promised something is killed, and back at once.
 */
static void lose_quorum_and_restart(struct sim_fault *f)
{
    lose_quorum(f);
    f->a = sim_below(SIM_NODES);
    sim_arm(timers, &f->pulse, sim_between(200, 2 * SIM_T));
}

static void on_restart(struct timer *timer)
{
    struct sim_fault *f = CONTAINER_OF(timer, struct sim_fault, pulse);

    restart(f->a);
    find_quorum(f);
}

/* No node reaches ZooKeeper, all reach each other; then one after the other gets there again,
 * and sessions have ended meanwhile: when failsafe has to be right. */
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
        if (sim_node_runs(&sim_nodes[i])) /* they notice at once */
            sim_client_break(&sim_nodes[i].zk, sim_chance(50));
    }
    sim_arm(timers, &f->pulse, sim_between(SIM_T / 2, 2 * SIM_T));
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
        restart(i);
    sim_trace("%s: reaches ZooKeeper", sim_nodes[i].name);
    if (sim_nodes[i].ha)
        sim_client_hold(&sim_nodes[i].zk, false, false);
    sim_arm(timers, timer, sim_between(0, SIM_T));
}

/* ---- operators ---- */

static void on_wish_done(struct ha_command *command)
{
    struct wish *w = CONTAINER_OF(command, struct wish, command);

    sim_trace("operator: %s %s", status_word(command->status), command->why);
    free(w);
}

static void wish(struct sim_fault *f)
{
    struct wish *w;

    if (!sim_node_runs(node_of(f)))
        return;
    w = calloc(1, sizeof(*w));
    if (!w)
        abort();
    w->command.wish = f->mode < 2 ? HA_SWITCHOVER : HA_FAILOVER;
    strcpy(w->to, sim_nodes[f->b].name);
    w->command.to = w->to;
    w->command.on_done = on_wish_done;
    sim_trace("operator: asks %s for %s to %s", node_of(f)->name,
              f->mode < 2 ? "a switchover" : "a failover by force", w->to);
    ha_command(node_of(f)->ha, &w->command);
}

static void nothing(struct sim_fault *f)
{
}

/* ---- the table ---- */

#define NODE   SIM_SCOPE_NODE
#define SERVER SIM_SCOPE_SERVER
#define ALL    SIM_SCOPE_ALL
#define T      SIM_T

static const struct kind kinds[] = {
    {"freeze", NODE, 10, 3 * T, freeze, thaw, NULL, false},
    {"stutter", NODE, T, 4 * T, stutter, thaw, on_stutter, false},
    {"kill worker", NODE, 30, 500, kill_worker, start, on_warden, false},
    {"kill both", NODE, 30, 3 * T, kill_both, start, NULL, false},
    {"vanish", NODE, 500, 3 * T, vanish, start, NULL, false},
    {"stop", NODE, 10, 3 * T, stop, start_again, NULL, false},
    {"cut from zk", NODE, 10, 3 * T, cut_from_zookeeper, join_zookeeper, NULL, false},
    {"breaks", NODE, 10, 2 * T, break_connection, nothing, on_break, false},
    {"slow zk", NODE, T, 4 * T, slow, quick, NULL, false},
    {"very slow zk", ALL, T, 4 * T, very_slow, quick, NULL, false},
    {"cut from peers", NODE, 10, 2 * T, cut_from_peers, join_peers, NULL, false},
    {"reset peers", NODE, 10, 2 * T, reset_peers, join_zookeeper, NULL, false},
    {"cut off", NODE, 10, 3 * T, cut_off, join, NULL, false},
    {"scripts wait", NODE, 10, 3 * T, hold_store, release_store, NULL, false},
    {"scripts wait, frozen", NODE, T, 3 * T, hold_store_and_freeze, release_store, NULL, false},
    {"redis away", NODE, 10, 3 * T, lose_store, find_store, NULL, false},
    {"wish", NODE, 10, 20, wish, nothing, NULL, false},
    {"freeze server", SERVER, 10, 3 * T, freeze_server, thaw_server, NULL, true},
    {"kill server", SERVER, 10, 3 * T, kill_server, restart_server, NULL, true},
    {"cut server", SERVER, 10, 3 * T, cut_server, join_server, NULL, true},
    {"late beat, server stops", SERVER, T, 3 * T, be_late_and_stop, go_on, on_late_beat, false},
    {"server stutters", SERVER, T, 4 * T, freeze_server, thaw_server, on_server_stutter, true},
    {"no quorum", ALL, 10, 4 * T, lose_quorum, find_quorum, NULL, true},
    {"no quorum, restart", ALL, T, 3 * T, lose_quorum_and_restart, find_quorum, on_restart,
     true},
    {"no way to zk", ALL, T, 5 * T, cut_all, join_all, on_join_one, false},
    {"kill all", ALL, 30, T, kill_all, start_all, NULL, false},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* ---- life ---- */

static void end(struct sim_fault *f)
{
    timer_disarm(timers, &f->end);
    timer_disarm(timers, &f->pulse);
    sim_trace("fault ends: %s", f->kind->name);
    f->kind->end(f);
    list_remove(&f->link);
    free(f);
}

static void on_end(struct timer *timer)
{
    end(CONTAINER_OF(timer, struct sim_fault, end));
}

/* Mostly where it hurts: the leader, ZooKeeper's leader, the server that the leader is at. */
static unsigned target(bool is_of_servers)
{
    int acting = sim_acting();
    int server = sim_zk_leader();

    if (sim_chance(25) || acting < 0)
        return sim_below(SIM_NODES);
    if (is_of_servers && sim_chance(60) && sim_client_server(&sim_nodes[acting].zk) >= 0)
        return (unsigned)sim_client_server(&sim_nodes[acting].zk);
    if (is_of_servers)
        return server < 0 ? sim_below(SIM_SERVERS) : (unsigned)server;
    return (unsigned)acting;
}

int64_t sim_fault_begin(enum sim_scope *scope)
{
    struct sim_fault *f = calloc(1, sizeof(*f));
    int64_t length;

    if (!f)
        abort();
    f->kind = &kinds[sim_below(KINDS)];
    f->a = target(f->kind->is_of_servers);
    f->b = (f->a + 1 + sim_below(2)) % 3;
    f->mode = sim_below(4);
    length = sim_between(f->kind->least_ms, f->kind->most_ms);
    if (sim_chance(30)) /* many are short */
        length = sim_between(f->kind->least_ms, f->kind->least_ms + 500);
    timer_init(&f->end, on_end);
    timer_init(&f->pulse, f->kind->on_pulse ? f->kind->on_pulse : on_end);
    list_append(&on, &f->link);
    count++;
    f->scope = f->kind->scope;
    sim_trace("fault: %s, %lld ms", f->kind->name, (long long)length);
    sim_arm(timers, &f->end, length);
    f->kind->begin(f);
    *scope = f->scope;
    return sim_now + length;
}

unsigned sim_fault_count(void)
{
    return count;
}

void sim_faults_end(void)
{
    struct list *link;

    while ((link = list_first(&on)))
        end(CONTAINER_OF(link, struct sim_fault, link));
    for (unsigned i = 0; i < 3; i++) {
        sim_zk_freeze(i, false);
        sim_zk_restart(i);
        sim_zk_hold(i, (i + 1) % 3, false);
        sim_zk_hold((i + 1) % 3, i, false);
        sim_peers_hold(i, (i + 1) % 3, false);
        sim_store_hold(i, false);
        sim_node_freeze(i, false);
        if (sim_nodes[i].is_stopping)
            sim_node_kill(i);
        sim_node_start(i);
        sim_client_hold(&sim_nodes[i].zk, false, false);
        sim_nodes[i].zk.slow_ms = 0;
        sim_node_set_store(i, true);
    }
}

void sim_faults_init(struct timers *world)
{
    timers = world;
    count = 0;
    list_init(&on);
}
