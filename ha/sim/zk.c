#include "ha/sim/zk.h"

#include <stdlib.h>

#include "ha/sim/zk_server.h"

struct sim_zk sim_zk;

/* ---- questions ---- */

struct timers *sim_zk_timers(void)
{
    return &sim_zk.timers;
}

struct timers *sim_zk_server_timers(unsigned server)
{
    struct sim_server *s = &sim_zk.servers[server];

    return s->is_up && !s->is_frozen ? &s->timers : NULL;
}

int sim_zk_leader(void)
{
    for (int i = 0; i < SIM_SERVERS; i++) {
        const struct sim_server *s = &sim_zk.servers[i];

        if (s->role == SIM_LEADING && s->is_up && !s->is_frozen && sim_zk_has_quorum(s))
            return i;
    }
    return -1;
}

unsigned sim_zk_leaders(void)
{
    return sim_zk.leaders;
}

bool sim_zk_is_whole(void)
{
    int leader = sim_zk_leader();
    unsigned following = 0;

    for (unsigned i = 0; leader >= 0 && i < SIM_SERVERS; i++)
        following +=
            sim_zk.servers[i].leader == &sim_zk.servers[leader] && !sim_zk.servers[i].is_frozen;
    return following == SIM_SERVERS - 1;
}

/* ---- faults ---- */

void sim_zk_freeze(unsigned server, bool is_frozen)
{
    struct sim_server *s = &sim_zk.servers[server];

    if (s->is_frozen == is_frozen)
        return;
    sim_trace("zk%u: %s", server, is_frozen ? "frozen" : "thawed");
    s->is_frozen = is_frozen;
    if (is_frozen)
        return;
    if (timer_is_armed(&s->expiry))
        sim_arm(&s->timers, &s->expiry, sim_between(0, 40));
    for (unsigned i = 0; i < SIM_SERVERS; i++) { /* another thread than the clients' */
        if (timer_is_armed(&s->from[i].timer))
            sim_arm(&s->timers, &s->from[i].timer, sim_between(0, 40));
    }
}

bool sim_zk_is_frozen(unsigned server)
{
    return sim_zk.servers[server].is_frozen;
}

void sim_zk_kill(unsigned server)
{
    struct sim_server *s = &sim_zk.servers[server];

    if (!s->is_up)
        return;
    sim_trace("zk%u: killed", server);
    s->is_up = s->is_frozen = false;
    sim_zk_give_up(s, "dead");
    for (unsigned i = 0; i < SIM_SERVERS; i++)
        fake_wire_drop(&s->from[i]);
    LIST_EACH (link, &s->sessions)
        CONTAINER_OF(link, struct sim_session, link)->is_touched = false;
    for (unsigned i = 0; i < SIM_SERVERS; i++) { /* the others read the end of its links */
        struct sim_server *other = &sim_zk.servers[i];

        if (other->role == SIM_LEADING)
            other->followers[server].link = 0;
        if (other->role == SIM_FOLLOWING && other->leader == s && !other->is_frozen)
            sim_zk_give_up(other, "its leader is dead");
    }
}

void sim_zk_restart(unsigned server)
{
    struct sim_server *s = &sim_zk.servers[server];

    if (s->is_up)
        return;
    sim_trace("zk%u: restarted", server);
    s->is_up = true;
    s->looking_since_ms = sim_now;
}

void sim_zk_hold(unsigned from, unsigned to, bool is_held)
{
    struct fake_wire *w = &sim_zk.servers[to].from[from];

    if (w->is_held != is_held)
        sim_trace("zk%u -> zk%u: %s", from, to, is_held ? "held" : "let go");
    fake_wire_hold(w, is_held);
}

void sim_zk_end_session(const struct coord_credentials *who)
{
    int leader = sim_zk_leader();
    struct sim_session *s;

    if (leader < 0)
        return;
    s = sim_zk_session(&sim_zk.servers[leader], who->session);
    if (s && !s->is_ending)
        sim_zk_end(&sim_zk.servers[leader], s);
}

/* ---- life ---- */

static void server_init(struct sim_server *s, unsigned number)
{
    *s = (struct sim_server){.number = number, .is_up = true, .looking_since_ms = sim_now};
    timers_init(&s->timers, sim_now);
    fake_tree_init(&s->tree);
    list_init(&s->sessions);
    list_init(&s->conns);
    sim_zk_watches_init(s);
    timer_init(&s->expiry, sim_zk_on_expiry);
    timer_init(&s->tick, sim_zk_on_tick);
    for (unsigned i = 0; i < SIM_SERVERS; i++)
        fake_wire_init(&s->from[i], &s->timers, sim_zk_on_note);
}

void sim_zk_init(void)
{
    sim_zk = (struct sim_zk){.next_session = 0x1000, .patience_ms = sim_between(0, 100)};
    list_init(&sim_zk.entries);
    timers_init(&sim_zk.timers, sim_now);
    timer_init(&sim_zk.election, sim_zk_on_election);
    sim_arm(&sim_zk.timers, &sim_zk.election, 0);
    for (unsigned i = 0; i < SIM_SERVERS; i++)
        server_init(&sim_zk.servers[i], i);
}

static void server_fini(struct sim_server *s)
{
    struct list *link;

    sim_zk_close_conns(s);
    for (unsigned i = 0; i < SIM_SERVERS; i++)
        fake_wire_fini(&s->from[i]);
    while ((link = list_pop(&s->sessions)))
        free(CONTAINER_OF(link, struct sim_session, link));
    fake_tree_fini(&s->tree);
    free(s->log);
    timers_fini(&s->timers);
}

void sim_zk_fini(void)
{
    struct list *link;

    for (unsigned i = 0; i < SIM_SERVERS; i++)
        server_fini(&sim_zk.servers[i]);
    while ((link = list_pop(&sim_zk.entries))) {
        struct sim_entry *e = CONTAINER_OF(link, struct sim_entry, link);

        if (e->write)
            fake_message_free(e->write);
        free(e);
    }
    timers_fini(&sim_zk.timers);
}
