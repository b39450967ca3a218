/* A ZooKeeper leader and its followers. The leader takes entries of the log up, a quorum logs
 * them, and every server applies them in the same order. A silent server is given up.
 */
#include <stdlib.h>

#include "ha/sim/zk_server.h"

/* ---- links ---- */

static void post(struct sim_server *from, struct sim_server *to, struct sim_note *n,
                 unsigned link)
{
    n->link = link;
    sim_send(&to->from[from->number], n);
}

static void to_follower(struct sim_server *leader, unsigned f, struct sim_note *n)
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

/* ---- a server's own ---- */

struct sim_entry *sim_zk_entry(enum sim_entry_kind kind)
{
    struct sim_entry *e = must(calloc(1, sizeof(*e)));

    e->kind = kind;
    list_append(&sim_zk.entries, &e->link);
    return e;
}

void sim_zk_log(struct sim_server *s, struct sim_entry *e)
{
    if (s->logged == s->log_room) {
        s->log_room = s->log_room ? 2 * s->log_room : 64;
        s->log = must(realloc(s->log, s->log_room * sizeof(struct sim_entry *)));
    }
    s->log[s->logged++] = e;
}

void sim_zk_apply(struct sim_server *s)
{
    struct sim_entry *e = s->log[s->applied++];
    enum coord_status status = COORD_OK;
    unsigned failed = 0;

    if (e->kind == SIM_BEGIN_SESSION)
        sim_zk_session_begin(s, e);
    else if (e->kind == SIM_END_SESSION)
        sim_zk_session_forget(s, e->who.session);
    else if (!sim_zk_session(s, e->who.session))
        status = COORD_EXPIRED;
    else
        status = fake_tree_write(&s->tree, e->write->changes, e->write->change_count,
                                 e->who.session, &failed);
    sim_zk_on_applied(s, e, status, failed);
}

/* ---- the leader's ---- */

static bool has_quorum_for(const struct sim_server *leader, unsigned index)
{
    unsigned have = 1;

    for (unsigned f = 0; f < SIM_SERVERS; f++)
        have += sim_zk_is_follower(leader, f) && leader->followers[f].acked > index;
    return 2 * have > SIM_SERVERS;
}

void sim_zk_commit(struct sim_server *leader)
{
    unsigned before = leader->applied;

    while (leader->applied < leader->logged && has_quorum_for(leader, leader->applied))
        sim_zk_apply(leader);
    for (unsigned f = 0; f < SIM_SERVERS && leader->applied > before; f++) {
        struct sim_note *n;

        if (!sim_zk_is_follower(leader, f))
            continue;
        n = sim_note_new(SIM_COMMIT, leader->number);
        n->index = leader->applied;
        to_follower(leader, f, n);
    }
}

void sim_zk_append(struct sim_server *leader, struct sim_entry *e)
{
    e->epoch = leader->epoch;
    sim_zk_log(leader, e);
    for (unsigned f = 0; f < SIM_SERVERS; f++) {
        struct sim_note *n;

        if (!sim_zk_is_follower(leader, f))
            continue;
        n = sim_note_new(SIM_PROPOSE, leader->number);
        n->entry = e;
        n->index = leader->logged - 1;
        to_follower(leader, f, n);
    }
}

/* A leader takes a write only from the connection on which its session was last seen. */
static void take(struct sim_server *leader, struct sim_entry *e)
{
    if (e->kind == SIM_WRITE && !sim_zk_is_owner(leader, e->who.session, e->conn)) {
        sim_zk_on_moved(e->conn);
        return;
    }
    sim_zk_append(leader, e);
}

void sim_zk_submit(struct sim_server *s, struct sim_entry *e)
{
    struct sim_note *n;

    if (s->role == SIM_LEADING) {
        take(s, e);
    } else if (s->role == SIM_FOLLOWING) {
        n = sim_note_new(SIM_REQUEST, s->number);
        n->entry = e;
        sim_zk_to_leader(s, n);
    }
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
            to_follower(s, f, sim_note_new(SIM_PING, s->number));
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
        take(s, n->entry);
    } else if (n->kind == SIM_REVALIDATE) {
        valid = sim_note_new(SIM_VALID, s->number);
        valid->session = n->session;
        valid->conn = n->conn;
        valid->index = sim_zk_prove(s, n->session, n->conn);
        to_follower(s, n->from, valid);
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
