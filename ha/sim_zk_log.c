/* A server's log, what it says of sessions, and the messages that keep the logs alike. */
#include "ha/sim_zk.h"

#include <stdlib.h>

/* ---- messages between servers ---- */

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

/* ---- sessions ---- */

struct sim_session *sim_zk_session(struct sim_server *s, int64_t session)
{
    LIST_EACH (link, &s->sessions) {
        struct sim_session *found = CONTAINER_OF(link, struct sim_session, link);

        if (found->who.session == session)
            return found;
    }
    return NULL;
}

void sim_zk_prolong(struct sim_server *leader, struct sim_session *s)
{
    int64_t end = sim_now + s->timeout_ms;

    s->end_ms = (end / sim_tick_ms + 1) * sim_tick_ms;
}

/* Somebody was heard. */
void sim_zk_touch(struct sim_server *s, int64_t session)
{
    struct sim_session *found = sim_zk_session(s, session);

    if (found && s->role == SIM_LEADING && !found->is_ending)
        sim_zk_prolong(s, found);
    else if (found)
        found->is_touched = true;
}

bool sim_zk_is_owner(struct sim_server *leader, int64_t session, unsigned conn)
{
    struct sim_session *s = sim_zk_session(leader, session);

    if (!s || s->is_ending)
        return true; /* it ends anyway, by the log's order */
    if (s->owner == 0)
        s->owner = conn;
    return s->owner == conn;
}

void sim_zk_end(struct sim_server *leader, struct sim_session *s)
{
    struct sim_entry *e = sim_zk_entry(SIM_END_SESSION);

    sim_trace("zk%u: session %llx has ended", leader->number,
              (unsigned long long)s->who.session);
    s->is_ending = true;
    e->who = s->who;
    sim_zk_append(leader, e);
}

void sim_zk_arm_expiry(struct sim_server *leader)
{
    sim_arm(&leader->timers, &leader->expiry, sim_tick_ms - sim_now % sim_tick_ms);
}

void sim_zk_on_expiry(struct timer *timer)
{
    struct sim_server *leader = CONTAINER_OF(timer, struct sim_server, expiry);

    LIST_EACH (link, &leader->sessions) {
        struct sim_session *s = CONTAINER_OF(link, struct sim_session, link);

        if (!s->is_ending && s->end_ms <= sim_now)
            sim_zk_end(leader, s);
    }
    sim_zk_arm_expiry(leader);
}

/* ---- the log ---- */

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

static void begin_session(struct sim_server *s, const struct sim_entry *e)
{
    struct sim_session *new = calloc(1, sizeof(*new));

    if (!new)
        abort();
    new->who = e->who;
    new->timeout_ms = e->timeout_ms;
    new->owner = e->conn;
    if (s->role == SIM_LEADING)
        sim_zk_prolong(s, new);
    list_append(&s->sessions, &new->link);
}

static void forget_session(struct sim_server *s, int64_t session)
{
    struct sim_session *found = sim_zk_session(s, session);

    if (!found)
        return;
    fake_tree_remove_owned(&s->tree, session);
    list_remove(&found->link);
    free(found);
}

void sim_zk_apply(struct sim_server *s)
{
    struct sim_entry *e = s->log[s->applied++];
    enum coord_status status = COORD_OK;
    unsigned failed = 0;

    if (e->kind == SIM_BEGIN_SESSION)
        begin_session(s, e);
    else if (e->kind == SIM_END_SESSION)
        forget_session(s, e->who.session);
    else if (!sim_zk_session(s, e->who.session))
        status = COORD_EXPIRED;
    else
        status = fake_tree_write(&s->tree, e->write->changes, e->write->change_count,
                                 e->who.session, &failed);
    sim_zk_on_applied(s, e, status, failed);
}

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

/* Of a leader: only from the connection on which the session was seen last. */
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

bool sim_zk_prove(struct sim_server *leader, int64_t session, unsigned conn)
{
    struct sim_session *s = sim_zk_session(leader, session);

    if (!s || s->is_ending)
        return false;
    sim_zk_prolong(leader, s);
    s->owner = conn;
    return true;
}

void sim_zk_revalidate(struct sim_server *s, int64_t session, unsigned conn)
{
    struct sim_note *n;

    if (s->role == SIM_LEADING) {
        sim_zk_on_valid(s, session, conn, sim_zk_prove(s, session, conn));
    } else if (s->role == SIM_FOLLOWING) {
        n = sim_note_new(SIM_REVALIDATE, s->number);
        n->session = session;
        n->conn = conn;
        sim_zk_to_leader(s, n);
    }
}
