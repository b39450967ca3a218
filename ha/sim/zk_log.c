/* The log: a leader takes entries up, a quorum logs them, and every server applies them in the
 * same order.
 */
#include <stdlib.h>

#include "ha/sim/zk_server.h"

/* ---- a server's own ---- */

struct sim_entry *sim_zk_entry(enum sim_entry_kind kind)
{
    struct sim_entry *e = calloc(1, sizeof(*e));

    if (!e)
        abort();
    e->kind = kind;
    list_append(&sim_zk.entries, &e->link);
    return e;
}

void sim_zk_log(struct sim_server *s, struct sim_entry *e)
{
    if (s->logged == s->log_room) {
        s->log_room = s->log_room ? 2 * s->log_room : 64;
        s->log = realloc(s->log, s->log_room * sizeof(struct sim_entry *));
        if (!s->log)
            abort();
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
        sim_zk_to_follower(leader, f, n);
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
        sim_zk_to_follower(leader, f, n);
    }
}

/* A leader takes a write only from the connection on which its session was last seen. */
void sim_zk_take(struct sim_server *leader, struct sim_entry *e)
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
        sim_zk_take(s, e);
    } else if (s->role == SIM_FOLLOWING) {
        n = sim_note_new(SIM_REQUEST, s->number);
        n->entry = e;
        sim_zk_to_leader(s, n);
    }
}
