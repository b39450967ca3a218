/* What this node does with the other nodes directly: as a failsafe leader it asks them, as a
 * member it answers, and it ends the session of a process that is proven dead.
 */
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

/* ---- the leader's half ---- */

/* Does ZooKeeper prove the lease, or will it soon enough? */
static bool has_quorum(const struct ha *ha, int64_t now)
{
    return context_is_connected(&ha->context) &&
           write_lease_until(&ha->context.lease) >= now + ha_t(ha) / 4;
}

static void ask_all(struct ha *ha, int64_t now)
{
    struct peer_question question = {.token = ha->role.token, .session_ms = ha_t(ha)};

    ha->asked_boot_ms = now;
    question.seq = failsafe_asked(&ha->failsafe, now);
    peers_ask(ha->peers, &question);
}

/* A leader asks only if it knows all members, and `members` tells starting nodes how long to
 * wait. */
static bool may_ask(const struct ha *ha)
{
    const struct view *v = &ha->view;

    return membership_is_listed(&ha->membership) && v->members_timeout_ms >= ha_t(ha);
}

void ha_failsafe_tick(struct ha *ha, int64_t now)
{
    int64_t next = ha->asked_boot_ms + ha_t(ha) / 6;

    if (ha->options.on_loss != HA_FAILSAFE || ha->role.state != ROLE_LEADER)
        return;
    if (has_quorum(ha, now)) {
        if (ha->failsafe.is_on)
            LOG_INFO("ha", "failsafe ends: ZooKeeper proves the lease again");
        failsafe_end(&ha->failsafe);
        return;
    }
    if (!may_ask(ha)) {
        failsafe_end(&ha->failsafe);
        return;
    }
    if (!ha->failsafe.is_on) {
        LOG_WARN("ha", "ZooKeeper is away: asks the members whether it may go on");
        failsafe_begin(&ha->failsafe, ha_t(ha));
        next = now;
    }
    membership_add_others(&ha->membership, &ha->failsafe);
    context_wake_at(&ha->context, next);
    if (now >= next)
        ask_all(ha, now);
}

/* ---- the member's half ---- */

/* A promise is always safe, but it keeps this node from campaigning, so a node with a quorum
 * gives none. A dead connection looks like a quorum until the client gives it up. To know
 * sooner, a node that is asked beats, and believes in its quorum for T/12 more. */
static bool seems_to_have_quorum(struct ha *ha, int64_t now)
{
    if (!context_is_connected(&ha->context) || heartbeat_is_late(&ha->heartbeat, now))
        return false;
    heartbeat_send_soon(&ha->heartbeat);
    return true;
}

/* The epoch of this node's last lead in that ensemble, or 0. */
static uint64_t own_epoch(const struct ha *ha, const char *ensemble)
{
    const struct token *own = &ha->role.token;

    return strcmp(own->ensemble, ensemble) ? 0 : own->epoch;
}

/* No promise while this node leads or may have been elected, nor to a leader that it knows to
 * be deposed. */
bool ha_answer_question(struct peers *p, const char *name, const struct peer_question *question)
{
    struct ha *ha = p->user;
    const struct token *t = &question->token;
    int64_t session_ms = ha_t(ha);

    if (ha->options.on_loss != HA_FAILSAFE || ha->role.state == ROLE_LEADER ||
        ha->role.state == ROLE_DRAINING || ha->lead.is_mine ||
        ha->election.state != ELECTION_NONE || token_is_none(t) ||
        seems_to_have_quorum(ha, context_now(&ha->context)))
        return false;
    if (ha->view.ensemble[0] &&
        (strcmp(t->ensemble, ha->view.ensemble) != 0 || t->epoch < ha->view.epoch ||
         t->epoch < own_epoch(ha, t->ensemble) || t->epoch < ha_fence(ha, t->ensemble)))
        return false;
    if (question->session_ms > session_ms)
        session_ms = question->session_ms;
    failsafe_promise(&ha->promise, context_now(&ha->context), session_ms);
    return true;
}

/* ---- the dead ---- */

static bool owns_something(const struct ha *ha, int64_t session)
{
    if (view_leader_is(&ha->view, session))
        return true;
    VIEW_EACH_NODE (n, &ha->view) {
        if (n->node.is_here && n->node.owner == session)
            return true;
    }
    return false;
}

/* The session is ended at once and not in the tick, because no decision of this node depends on
 * it. A session's number is never reused, so even a stale view identifies the session. */
void ha_note_death(struct peers *p, const char *name, const struct coord_credentials *dead)
{
    struct ha *ha = p->user;

    if (dead->session == 0 || dead->session == ha->session ||
        !owns_something(ha, dead->session))
        return;
    LOG_WARN("ha", "the process of %s is dead: ends its session", name);
    ha->peer_deaths++;
    if (view_leader_is(&ha->view, dead->session))
        ha->dead_epoch = ha->view.leader.epoch;
    coordinator_end_session(ha->context.coordinator, dead);
    context_wake(&ha->context);
}

/* ---- who they are ---- */

static bool is_other(const struct ha *ha, const struct view_node *n)
{
    return strcmp(n->node.name, ha->options.node) != 0 && n->node.peer[0] &&
           (n->node.is_here ||
            (ha->view.member_count > 0 && view_is_member(&ha->view, n->node.name)));
}

void ha_peers_tick(struct ha *ha)
{
    struct peer_name others[PEERS_MAX] = {0};
    unsigned count = 0;

    VIEW_EACH_NODE (n, &ha->view) {
        if (count == PEERS_MAX || !is_other(ha, n))
            continue;
        strcpy(others[count].name, n->node.name);
        strcpy(others[count].address, n->node.peer);
        count++;
    }
    if (count == ha->other_count && !memcmp(others, ha->others, sizeof(others)))
        return;
    memcpy(ha->others, others, sizeof(others));
    ha->other_count = count;
    peers_set(ha->peers, ha->others, count);
}
