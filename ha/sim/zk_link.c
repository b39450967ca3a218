/* A ZooKeeper leader and its followers: their messages, and who is silent. */
#include "ha/sim/zk_server.h"

/* ---- sending ---- */

static void post(struct sim_server *from, struct sim_server *to, struct sim_note *n,
                 unsigned link)
{
    n->link = link;
    sim_send(&to->from[from->number], n);
}

void sim_zk_to_follower(struct sim_server *leader, unsigned f, struct sim_note *n)
{
    post(leader, &sim_zk.servers[f], n, leader->followers[f].link);
}

void sim_zk_to_leader(struct sim_server *s, struct sim_note *n)
{
    post(s, s->leader, n, s->link);
}

bool sim_zk_is_follower(const struct sim_server *leader, unsigned f)
{
    return leader->followers[f].link != 0;
}

/* ---- half a tick ---- */

void sim_zk_on_tick(struct timer *timer)
{
    struct sim_server *s = CONTAINER_OF(timer, struct sim_server, tick);
    int64_t limit = SIM_SYNC_TICKS * sim_tick_ms;

    if (s->role == SIM_FOLLOWING && sim_now >= s->heard_ms + limit) {
        sim_zk_give_up(s, "its leader is silent");
        return;
    }
    if (s->role == SIM_LEADING && !sim_zk_has_quorum(s)) {
        sim_zk_give_up(s, "no quorum");
        return;
    }
    for (unsigned f = 0; f < SIM_SERVERS && s->role == SIM_LEADING; f++) {
        if (!sim_zk_is_follower(s, f))
            continue;
        if (sim_now >= s->followers[f].heard_ms + limit)
            s->followers[f].link = 0;
        else
            sim_zk_to_follower(s, f, sim_note_new(SIM_PING, s->number));
    }
    sim_arm(&s->timers, timer, sim_tick_ms / 2);
}

/* ---- what arrives ---- */

static void as_follower(struct sim_server *s, struct sim_note *n)
{
    struct sim_note *ack;

    s->heard_ms = sim_now;
    if (n->kind == SIM_PING) {
        sim_zk_report(s);
    } else if (n->kind == SIM_PROPOSE && n->index == s->logged) {
        sim_zk_log(s, n->entry);
        ack = sim_note_new(SIM_ACK, s->number);
        ack->index = s->logged;
        sim_zk_to_leader(s, ack);
    } else if (n->kind == SIM_COMMIT) {
        while (s->applied < n->index && s->applied < s->logged)
            sim_zk_apply(s);
    } else if (n->kind == SIM_VALID) {
        sim_zk_on_valid(s, n->session, n->conn, n->index);
    }
}

static void as_leader(struct sim_server *s, struct sim_note *n)
{
    struct sim_follower *f = &s->followers[n->from];
    struct sim_note *valid;

    f->heard_ms = sim_now;
    if (n->kind == SIM_PONG) {
        sim_zk_take_report(s, n);
    } else if (n->kind == SIM_ACK) {
        f->acked = n->index;
        sim_zk_commit(s);
    } else if (n->kind == SIM_REQUEST) {
        sim_zk_take(s, n->entry);
    } else if (n->kind == SIM_REVALIDATE) {
        valid = sim_note_new(SIM_VALID, s->number);
        valid->session = n->session;
        valid->conn = n->conn;
        valid->index = sim_zk_prove(s, n->session, n->conn);
        sim_zk_to_follower(s, n->from, valid);
    }
}

void sim_zk_on_note(struct fake_wire *w, struct fake_message *m)
{
    struct sim_note *n = sim_note_of(m);
    struct sim_server *s = CONTAINER_OF(w - n->from, struct sim_server, from[0]);

    if (s->role == SIM_FOLLOWING && n->link == s->link)
        as_follower(s, n);
    else if (s->role == SIM_LEADING && n->link == s->followers[n->from].link)
        as_leader(s, n);
    sim_note_free(n);
}
