#include "ha/sim/peers.h"

#include <string.h>

#include "ha/sim/node.h"
#include "ha/sim/plant.h"

#define DIAL_MS 100

static bool held[SIM_NODES][SIM_NODES];
static unsigned processes;

static struct sim_peers *of(unsigned node)
{
    return &sim_nodes[node].peers;
}

static struct sim_peers *self(struct peers *p)
{
    return CONTAINER_OF(p, struct sim_peers, base);
}

static bool are_linked(unsigned a, unsigned b)
{
    return !held[a][b] && !held[b][a] && !sim_nodes[a].has_vanished &&
           !sim_nodes[b].has_vanished;
}

/* ---- letters ---- */

static void post(struct sim_peers *from, unsigned to, struct sim_note *n)
{
    if (!sim_nodes[to].ha || sim_nodes[from->node].is_dying) {
        sim_note_free(n);
        return;
    }
    n->link = of(to)->process;
    n->index = from->process;
    sim_send(&of(to)->inbox[from->node], n);
}

static void hello(struct sim_peers *p, unsigned to)
{
    struct sim_note *n = sim_note_new(SIM_HELLO, p->node);

    n->base.who = p->mine;
    post(p, to, n);
}

/* ---- connections ---- */

static void dead(struct sim_peers *p, unsigned other, const char *why)
{
    struct coord_credentials who = p->others[other].dead;

    p->others[other].dead.session = 0;
    if (who.session == 0 || !sim_nodes[p->node].ha)
        return;
    sim_trace("%s: %s is dead: %s", sim_nodes[p->node].name, sim_nodes[other].name, why);
    p->base.on_death(&p->base, sim_nodes[other].name, &who);
}

static void lost(struct sim_peers *p, unsigned other)
{
    struct sim_peer *peer = &p->others[other];

    if (!peer->is_connected)
        return;
    peer->is_connected = false;
    sim_arm(p->timers, &peer->dial, sim_delay());
    if (sim_is_planted(PLANT_EOF_IS_DEATH))
        dead(p, other, "its connection has ended");
}

static void connected(struct sim_peers *p, unsigned other)
{
    struct sim_peer *peer = &p->others[other];

    if (peer->process && peer->process != of(other)->process)
        dead(p, other, "another process answers");
    peer->process = of(other)->process;
    peer->dead = of(other)->mine;
    if (of(other)->has_left)
        peer->dead.session = 0;
    peer->is_connected = true;
}

static void on_dial(struct timer *timer)
{
    struct sim_peer *peer = CONTAINER_OF(timer, struct sim_peer, dial);
    struct sim_peers *p = peer->owner;
    unsigned other = (unsigned)(peer - p->others);

    if (!peer->is_wanted || peer->is_connected)
        return;
    if (are_linked(p->node, other)) {
        if (!sim_nodes[other].ha)
            dead(p, other, "refused");
        else if (!sim_nodes[other].is_frozen)
            connected(p, other);
    }
    if (!peer->is_connected)
        sim_arm(p->timers, timer, DIAL_MS);
}

/* ---- what arrives ---- */

static void on_letter(struct fake_wire *w, struct fake_message *m)
{
    struct sim_note *n = sim_note_of(m);
    struct sim_peers *p = CONTAINER_OF(w - n->from, struct sim_peers, inbox[0]);
    struct sim_peer *peer = &p->others[n->from];
    const struct peer_question question = {
        .token = n->token, .seq = n->seq, .session_ms = n->session_ms};
    const char *name = sim_nodes[n->from].name;
    struct sim_note *promise;

    if (n->link != p->process) {
        sim_note_free(n);
        return;
    }
    if (n->kind == SIM_END) {
        if (n->index == peer->process)
            lost(p, n->from);
    } else if (n->kind == SIM_HELLO) {
        if (n->index == peer->process)
            peer->dead = n->base.who;
    } else if (n->kind == SIM_QUESTION) {
        if (p->base.on_question(&p->base, name, &question)) {
            sim_trace("%s: promises %s", sim_nodes[p->node].name, name);
            promise = sim_note_new(SIM_PROMISE, p->node);
            promise->seq = n->seq;
            post(p, n->from, promise);
        }
    } else if (n->kind == SIM_PROMISE) {
        p->base.on_promise(&p->base, name, n->seq);
    }
    sim_note_free(n);
}

/* ---- the port ---- */

static void set(struct peers *base, const struct peer_name *names, unsigned count)
{
    struct sim_peers *p = self(base);

    for (unsigned i = 0; i < SIM_NODES; i++) {
        struct sim_peer *peer = &p->others[i];
        bool is_wanted = false;

        for (unsigned n = 0; n < count; n++)
            is_wanted |= !strcmp(names[n].name, sim_nodes[i].name);
        if (is_wanted && !peer->is_wanted)
            sim_arm(p->timers, &peer->dial, sim_delay());
        if (!is_wanted)
            peer->is_connected = false;
        peer->is_wanted = is_wanted;
    }
}

static void report(struct peers *base, const struct coord_credentials *mine)
{
    struct sim_peers *p = self(base);

    p->mine = *mine;
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (i != p->node)
            hello(p, i);
    }
}

/* A question goes over the connection that this node has dialed; the answer comes back on it.
 */
static void ask(struct peers *base, const struct peer_question *question)
{
    struct sim_peers *p = self(base);

    for (unsigned i = 0; i < SIM_NODES; i++) {
        struct sim_note *n;

        if (i == p->node || !p->others[i].is_connected)
            continue;
        n = sim_note_new(SIM_QUESTION, p->node);
        n->token = question->token;
        n->seq = question->seq;
        n->session_ms = question->session_ms;
        post(p, i, n);
    }
}

static void leave(struct peers *base)
{
    struct sim_peers *p = self(base);

    p->has_left = true;
    p->mine.session = 0;
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (i != p->node)
            hello(p, i);
    }
}

static const struct peers_ops ops = {.set = set, .report = report, .ask = ask, .leave = leave};

/* ---- life ---- */

void sim_peers_init(struct sim_peers *p, unsigned node, struct timers *timers)
{
    *p = (struct sim_peers){
        .base = {.ops = &ops}, .node = node, .timers = timers, .process = ++processes};
    for (unsigned i = 0; i < SIM_NODES; i++) {
        fake_wire_init(&p->inbox[i], timers, on_letter);
        fake_wire_hold(&p->inbox[i], held[i][node]);
        p->others[i].owner = p;
        timer_init(&p->others[i].dial, on_dial);
    }
}

void sim_peers_fini(struct sim_peers *p)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        fake_wire_fini(&p->inbox[i]);
        timer_disarm(p->timers, &p->others[i].dial);
    }
}

static void end_connections(unsigned from)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        struct sim_note *n;

        if (i == from || !sim_nodes[i].ha)
            continue;
        n = sim_note_new(SIM_END, from);
        n->link = of(i)->process;
        n->index = of(from)->process;
        sim_send(&of(i)->inbox[from], n);
    }
}

void sim_peers_died(unsigned node)
{
    if (!sim_nodes[node].has_vanished)
        end_connections(node);
}

void sim_peers_reset(unsigned node)
{
    sim_trace("%s: its peer links are reset", sim_nodes[node].name);
    end_connections(node);
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (sim_nodes[i].ha && sim_nodes[node].ha && i != node) {
            struct sim_note *n = sim_note_new(SIM_END, i);

            n->link = of(node)->process;
            n->index = of(i)->process;
            sim_send(&of(node)->inbox[i], n);
        }
    }
}

void sim_peers_hold(unsigned a, unsigned b, bool is_held)
{
    held[a][b] = held[b][a] = is_held;
    if (sim_nodes[a].ha)
        fake_wire_hold(&of(a)->inbox[b], is_held);
    if (sim_nodes[b].ha)
        fake_wire_hold(&of(b)->inbox[a], is_held);
}

void sim_peers_reset_all(void)
{
    memset(held, 0, sizeof(held));
}
