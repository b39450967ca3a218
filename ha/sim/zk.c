#include "ha/sim/zk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/sim/zk_server.h"

#define ELECTION_MS 40

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

/* ---- the election: one of two or three that can talk to each other and have no leader. A
 * follower's log becomes its leader's. ---- */

void sim_zk_give_up(struct sim_server *s, const char *why)
{
    sim_trace("zk%u: gives up %s: %s", s->number,
              s->role == SIM_LEADING ? "leading" : "following", why);
    s->role = SIM_LOOKING;
    s->looking_since_ms = sim_now;
    s->leader = NULL;
    s->link = 0;
    memset(s->followers, 0, sizeof(s->followers));
    timer_disarm(&s->timers, &s->tick);
    timer_disarm(&s->timers, &s->expiry);
    sim_zk_close_conns(s);
}

static bool are_linked(const struct sim_server *a, const struct sim_server *b)
{
    return !a->from[b->number].is_held && !b->from[a->number].is_held;
}

static bool is_looking(const struct sim_server *s)
{
    return s->is_up && !s->is_frozen && s->role == SIM_LOOKING;
}

/* Entries that only this server has logged, and that were never decided, are dropped. */
static void follow(struct sim_server *s, struct sim_server *leader)
{
    struct sim_follower *f = &leader->followers[s->number];
    unsigned same = 0;

    while (same < s->logged && same < leader->logged && s->log[same] == leader->log[same])
        same++;
    assert(same >= s->applied);
    s->logged = same;
    while (s->logged < leader->logged)
        sim_zk_log(s, leader->log[s->logged]);
    while (s->applied < leader->applied)
        sim_zk_apply(s);
    *f = (struct sim_follower){
        .link = ++sim_zk.next_link, .heard_ms = sim_now, .acked = s->logged};
    s->role = SIM_FOLLOWING;
    s->leader = leader;
    s->link = f->link;
    s->heard_ms = sim_now;
    sim_arm(&s->timers, &s->tick, sim_tick_ms / 2);
    sim_trace("zk%u: follows zk%u", s->number, leader->number);
}

static void lead(struct sim_server *s)
{
    s->role = SIM_LEADING;
    s->epoch = ++sim_zk.next_epoch;
    sim_zk.leaders++;
    sim_zk_prolong_all(s);
    sim_arm(&s->timers, &s->tick, sim_tick_ms / 2);
    sim_zk_arm_expiry(s);
    sim_trace("zk%u: leads ZooKeeper", s->number);
}

static bool is_newer(const struct sim_server *a, const struct sim_server *b)
{
    unsigned a_epoch = a->logged ? a->log[a->logged - 1]->epoch : 0;
    unsigned b_epoch = b->logged ? b->log[b->logged - 1]->epoch : 0;

    return a_epoch != b_epoch ? a_epoch > b_epoch : a->logged > b->logged;
}

static bool is_patient(const struct sim_server *s)
{
    return sim_now < s->looking_since_ms + sim_zk.patience_ms;
}

static void elect(void)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        struct sim_server *a = &sim_zk.servers[i];
        struct sim_server *b = &sim_zk.servers[(i + 1) % SIM_SERVERS];

        if (!is_looking(a) || !is_looking(b) || is_patient(a) || is_patient(b) ||
            !are_linked(a, b))
            continue;
        if (is_newer(b, a)) {
            lead(b);
            follow(a, b);
            sim_zk_commit(b);
        } else {
            lead(a);
            follow(b, a);
            sim_zk_commit(a);
        }
        sim_zk.patience_ms = sim_between(20, 300);
        return;
    }
}

bool sim_zk_has_quorum(const struct sim_server *leader)
{
    unsigned have = 1;

    for (unsigned f = 0; f < SIM_SERVERS; f++)
        have += sim_zk_is_follower(leader, f) &&
                sim_now < leader->followers[f].heard_ms + SIM_SYNC_TICKS * sim_tick_ms;
    return 2 * have > SIM_SERVERS;
}

static void join(struct sim_server *s)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        struct sim_server *leader = &sim_zk.servers[i];

        if (leader->role == SIM_LEADING && leader->is_up && !leader->is_frozen &&
            leader->epoch == sim_zk.next_epoch && sim_zk_has_quorum(leader) &&
            are_linked(s, leader)) {
            follow(s, leader);
            sim_zk_commit(leader);
            return;
        }
    }
}

static void on_election(struct timer *timer)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        if (is_looking(&sim_zk.servers[i]) && !is_patient(&sim_zk.servers[i]))
            join(&sim_zk.servers[i]);
    }
    elect();
    sim_arm(&sim_zk.timers, timer, ELECTION_MS);
}

/* ---- life ---- */

static void server_init(struct sim_server *s, unsigned number)
{
    *s = (struct sim_server){.number = number, .is_up = true, .looking_since_ms = sim_now};
    timers_init(&s->timers, sim_now);
    list_init(&s->sessions);
    list_init(&s->conns);
    sim_zk_tree_init(s);
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
    timer_init(&sim_zk.election, on_election);
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
