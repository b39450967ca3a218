/* Faults begin by the dice and end by the clock; fault_*.c has the kinds. */
#include "ha/sim/faults.h"

#include <stdlib.h>

#include "ha/sim/fault_kinds.h"

static const struct sim_fault_kind *const tables[] = {sim_process_kinds, sim_link_kinds,
                                                      sim_server_kinds};

#define TABLES (sizeof(tables) / sizeof(*tables))

static struct timers *timers;
static struct list on;
static unsigned count;

/* ---- for the kinds ---- */

void sim_fault_arm(struct timer *pulse, int64_t delay_ms)
{
    sim_arm(timers, pulse, delay_ms);
}

void sim_fault_restart(unsigned node)
{
    count++;
    sim_node_kill(node);
    sim_node_start(node);
}

void sim_fault_nothing(struct sim_fault *f)
{
}

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

/* The target is mostly the leader, ZooKeeper's leader, or the server that the leader is at. */
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

static unsigned kind_count(void)
{
    unsigned kinds = 0;

    for (unsigned t = 0; t < TABLES; t++) {
        for (const struct sim_fault_kind *k = tables[t]; k->name; k++)
            kinds++;
    }
    return kinds;
}

static const struct sim_fault_kind *kind_at(unsigned n)
{
    for (unsigned t = 0; t < TABLES; t++) {
        for (const struct sim_fault_kind *k = tables[t]; k->name; k++) {
            if (n-- == 0)
                return k;
        }
    }
    abort();
}

int64_t sim_fault_begin(enum sim_scope *scope)
{
    struct sim_fault *f = must(calloc(1, sizeof(*f)));
    int64_t length;

    f->kind = kind_at(sim_below(kind_count()));
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
