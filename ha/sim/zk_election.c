/* The election among the three servers: one of two or three that can talk to each other and
 * have no leader. A follower's log becomes its leader's.
 */
#include <assert.h>
#include <string.h>

#include "ha/sim/zk_server.h"

#define ELECTION_MS 40

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

void sim_zk_on_election(struct timer *timer)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        if (is_looking(&sim_zk.servers[i]) && !is_patient(&sim_zk.servers[i]))
            join(&sim_zk.servers[i]);
    }
    elect();
    sim_arm(&sim_zk.timers, timer, ELECTION_MS);
}
