/* Sessions: each server has them from the log, and only ZooKeeper's leader knows when a session
 * ends. Followers report their clients' sessions to the leader.
 */
#include <stdlib.h>
#include <string.h>

#include "ha/sim/zk_server.h"

struct sim_session *sim_zk_session(struct sim_server *s, int64_t session)
{
    LIST_EACH (link, &s->sessions) {
        struct sim_session *found = CONTAINER_OF(link, struct sim_session, link);

        if (found->who.session == session)
            return found;
    }
    return NULL;
}

static void prolong(struct sim_session *s)
{
    int64_t end = sim_now + s->timeout_ms;

    s->end_ms = (end / sim_tick_ms + 1) * sim_tick_ms;
}

/* ---- from the log ---- */

void sim_zk_session_begin(struct sim_server *s, const struct sim_entry *e)
{
    struct sim_session *new = must(calloc(1, sizeof(*new)));

    new->who = e->who;
    new->timeout_ms = e->timeout_ms;
    new->owner = e->conn;
    if (s->role == SIM_LEADING)
        prolong(new);
    list_append(&s->sessions, &new->link);
}

void sim_zk_session_forget(struct sim_server *s, int64_t session)
{
    struct sim_session *found = sim_zk_session(s, session);

    if (!found)
        return;
    fake_tree_remove_owned(&s->tree, session);
    list_remove(&found->link);
    free(found);
}

/* ---- who was heard ---- */

void sim_zk_touch(struct sim_server *s, int64_t session)
{
    struct sim_session *found = sim_zk_session(s, session);

    if (found && s->role == SIM_LEADING && !found->is_ending)
        prolong(found);
    else if (found)
        found->is_touched = true;
}

void sim_zk_report(struct sim_server *s)
{
    struct sim_note *pong = sim_note_new(SIM_PONG, s->number);

    LIST_EACH (link, &s->sessions) {
        struct sim_session *session = CONTAINER_OF(link, struct sim_session, link);

        if (session->is_touched)
            buf_add(&pong->base.data, &session->who.session, sizeof(int64_t));
        session->is_touched = false;
    }
    sim_zk_to_leader(s, pong);
}

void sim_zk_take_report(struct sim_server *leader, const struct sim_note *n)
{
    int64_t session;

    for (size_t at = 0; at < n->base.data.len; at += sizeof(session)) {
        memcpy(&session, n->base.data.at + at, sizeof(session));
        sim_zk_touch(leader, session);
    }
}

/* ---- the leader's ---- */

void sim_zk_prolong_all(struct sim_server *leader)
{
    LIST_EACH (link, &leader->sessions) {
        struct sim_session *s = CONTAINER_OF(link, struct sim_session, link);

        s->owner = 0;
        s->is_ending = false;
        prolong(s);
    }
}

bool sim_zk_is_owner(struct sim_server *leader, int64_t session, unsigned conn)
{
    struct sim_session *s = sim_zk_session(leader, session);

    if (!s || s->is_ending)
        return true; /* its end is in the log before, and decides */
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

/* ---- sessions that move ---- */

bool sim_zk_prove(struct sim_server *leader, int64_t session, unsigned conn)
{
    struct sim_session *s = sim_zk_session(leader, session);

    if (!s || s->is_ending)
        return false;
    prolong(s);
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
