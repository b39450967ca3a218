/* A node whose Redis does not answer while another node's does: it alone is cut off, and what
 * it keeps from the others goes to them, the lead and its shares of the topics. A Redis that
 * stands still does so for all nodes: then everything stays where it is.
 */
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

/* The others' nodes are read in turn, each once in T: too seldom for this. */
static void look_at_others(struct ha *ha, int64_t now)
{
    if (now < ha->store_looked_boot_ms + ha_t(ha) / 4)
        return;
    ha->store_looked_boot_ms = now;
    view_refresh_nodes(&ha->view);
    context_wake(&ha->context);
}

/* Long enough for the others to find out that theirs does not answer either, to say so and to
 * be read; and when it is back for all of them, for this one to find it as well. That a Redis
 * is silent takes a node T/4 to 3T/8 (node/wiring.c): with that it is 9T/8 at most. */
static bool has_lasted(struct ha *ha, int64_t *since_boot_ms, bool is_so, int64_t now)
{
    int64_t patience_ms = ha_t(ha) * 3 / 4;

    if (!is_so) {
        *since_boot_ms = 0;
        return false;
    }
    if (!*since_boot_ms)
        *since_boot_ms = now;
    look_at_others(ha, now);
    context_wake_at(&ha->context, ha->store_looked_boot_ms + ha_t(ha) / 4);
    context_wake_at(&ha->context, *since_boot_ms + patience_ms);
    return now >= *since_boot_ms + patience_ms;
}

/* ---- the lead ---- */

bool ha_is_store_away(struct ha *ha, int64_t now)
{
    bool is_so =
        !ha->store_up && !ha->view.control.is_paused && membership_best(&ha->membership);

    return has_lasted(ha, &ha->store_away_boot_ms, is_so, now);
}

/* ---- the shares ---- */

/* One that scans, so that the shares go to somebody. */
static bool has_another_its_redis(const struct ha *ha)
{
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        const struct ha_node *n = &ha->view.nodes[i].node;

        if (ha->view.nodes[i].is_used && n->is_here && n->store_up &&
            strcmp(n->name, ha->options.node) != 0 && scanners_have(&ha->scanners, n->name))
            return true;
    }
    return false;
}

/* Until its own answers again: that the others' fall silent, too, brings it nothing back. */
void ha_shares_tick(struct ha *ha, int64_t now)
{
    struct scanners *s = &ha->scanners;
    bool is_so = !ha->store_up && s->is_wanted && !s->is_cut_off && !s->is_leaving &&
                 context_is_connected(&ha->context) && has_another_its_redis(ha);

    if (!ha->options.shares)
        return;
    if (has_lasted(ha, &ha->shares_away_boot_ms, is_so, now)) {
        LOG_WARN("ha", "Redis answers other nodes and not this one: leaves its topics to them");
        s->is_cut_off = true;
    } else if (ha->store_up) {
        s->is_cut_off = false;
    }
}

/* A node that does not lead: it joins, stands when the lead is free, and takes up a lead that
 * is its own as soon as it has proven a lease on it.
 */

/* ---- a lead that is ours ---- */

static bool is_outdated(const struct ha *ha)
{
    return ha->lead.token.epoch <= ha_fence(ha, ha->lead.token.ensemble);
}

/* Not to act before. */
static int64_t begins_at(const struct ha *ha)
{
    return ha->lead.from_boot_ms > ha->resumes_from_boot_ms ? ha->lead.from_boot_ms
                                                            : ha->resumes_from_boot_ms;
}

/* Why the lead that this session owns must not be taken up; NULL: it may. */
static const char *why_give_away(const struct ha *ha, int64_t now)
{
    int64_t since = begins_at(ha);

    if (since < ha->role.since_boot_ms)
        since = ha->role.since_boot_ms;
    if (since < ha->context.connected_boot_ms)
        since = ha->context.connected_boot_ms;
    if (is_outdated(ha))
        return "Redis has seen a higher epoch";
    if (failsafe_has_promised(&ha->promise, now) && !ha->lead.is_forced)
        return "it has promised not to stand";
    if (now > since + ha_t(ha))
        return "no lease was proven in time";
    return NULL;
}

/* What it led before, or lost sight of. */
static bool is_known_lead(const struct ha *ha)
{
    return ha->role.state == ROLE_OFFLINE ||
           (ha->has_won_told && token_equal(&ha->won, &ha->lead.token));
}

/* A lead taken up again wants some lease ahead: what is proven first, after the servers have
 * stood still, ends soon, and the role would flap. */
static bool has_lease(const struct ha *ha, int64_t now)
{
    return ha_until(ha) > now + (is_known_lead(ha) ? ha_t(ha) / 4 : 0);
}

/* Elected, or connected again as the owner: acts once the lease is proven. */
static void lead_tick(struct ha *ha, int64_t now)
{
    const char *why = why_give_away(ha, now);
    int64_t begins = begins_at(ha);

    if (!context_is_connected(&ha->context))
        return;
    if (why) {
        LOG_DEBUG("ha", "gives the lead away: %s", why);
        ha->stood_back_until_boot_ms = now + ha_t(ha) / 2;
        election_give_away(&ha->election);
        return;
    }
    if (now < begins)
        context_wake_at(&ha->context, begins);
    if (now < begins || !has_lease(ha, now) || ha->election.giving.is_in_flight ||
        ha->lead.is_doubtful || ha->is_stopping)
        return;
    /* It was away: what it owned may have been taken meanwhile. */
    if (ha->role.state == ROLE_OFFLINE && !view_is_fresh(&ha->view, VIEW_LEADER))
        return;
    if (is_known_lead(ha))
        ha_enter(ha, ROLE_LEADER, ROLE_RESUMED_REASON);
    else
        ha_enter(ha, ROLE_LEADER,
                 ha->lead.is_forced ? ROLE_FORCED_REASON : ROLE_ELECTED_REASON);
}

/* ---- OFFLINE ---- */

static bool knows_all(const struct ha *ha)
{
    return view_is_fresh(&ha->view, VIEW_ENSEMBLE) && view_is_fresh(&ha->view, VIEW_EPOCH) &&
           view_is_fresh(&ha->view, VIEW_LEADER) && view_is_fresh(&ha->view, VIEW_MEMBERS) &&
           view_is_fresh(&ha->view, VIEW_CONTROL);
}

void ha_offline_tick(struct ha *ha, int64_t now)
{
    if (ha->lead.is_mine) {
        lead_tick(ha, now);
        if (ha->role.state != ROLE_OFFLINE || !is_outdated(ha))
            return;
    }
    if (ha->is_stopping || !ha->membership.is_registered || !knows_all(ha))
        return;
    ha->has_joined = true;
    /* What it promised before its start it does not know, nor whether it was set up to promise
     * then: it begins as if it had, and for as long as the newest leader counts. */
    failsafe_promise(&ha->promise, ha->started_boot_ms, view_longest_session_ms(&ha->view));
    ha->refused[0] = '\0';
    ha_enter(ha, ROLE_STANDBY, ROLE_JOINED_REASON);
}

/* ---- standing ---- */

static const struct control *control(const struct ha *ha)
{
    return &ha->view.control;
}

static bool is_wanted(const struct ha *ha, int64_t now)
{
    const struct control *c = control(ha);

    if (!control_has_request(c, ha->options.now_wall_ms(ha->options.arg)))
        return false;
    if (!strcmp(c->wanted, CONTROL_ANY))
        return !ha->options.no_failover;
    return !strcmp(c->wanted, ha->options.node);
}

static bool is_another_wanted(const struct ha *ha, int64_t now)
{
    return control_has_request(control(ha), ha->options.now_wall_ms(ha->options.arg)) &&
           !is_wanted(ha, now);
}

/* What must hold for any attempt, also by force; and, to make one, that all is known afresh. */
static bool is_able(const struct ha *ha, int64_t now)
{
    return ha->membership.is_registered && ha->store_up && !ha->is_stopping &&
           ha->view.ensemble[0] && ha->view.has_epoch &&
           ha_fence(ha, ha->view.ensemble) < TOKEN_EPOCH_MAX &&
           ha->election.state == ELECTION_NONE && !ha->election.request.is_in_flight &&
           !ha->lead.is_mine && now >= ha->election.retry_boot_ms &&
           view_is_member(&ha->view, ha->options.node);
}

static bool may_stand(struct ha *ha, int64_t now)
{
    bool wanted = is_wanted(ha, now);

    if (now < ha->promise.until_boot_ms)
        context_wake_at(&ha->context, ha->promise.until_boot_ms);
    if (now < ha->stands_from_boot_ms)
        context_wake_at(&ha->context, ha->stands_from_boot_ms);
    return !view_has_leader(&ha->view) && (wanted || !control(ha)->is_paused) &&
           (wanted || !ha->options.no_failover) && !failsafe_has_promised(&ha->promise, now) &&
           now >= ha->stands_from_boot_ms;
}

/* 0 to T/20: the less it is preferred among those that are here and could lead. */
static int64_t delay_by_priority(const struct ha *ha)
{
    const struct ha_node *best = membership_best(&ha->membership);

    if (!best || best->priority <= ha->options.priority)
        return 0;
    return (int64_t)(best->priority - ha->options.priority) * (ha_t(ha) / 20) / 100;
}

/* Who has only just joined has to wait for its lease when it is elected: those go first that
 * may act at once. Where there are none, little or nothing is lost. */
static int64_t delay_by_lease(const struct ha *ha, int64_t now)
{
    return write_lease_would_be_proven(&ha->context.lease, now) ? 0 : ha_t(ha) / 10;
}

/* A leader that no client reaches is better than none, and worse than any other. */
static int64_t delay_by_address(const struct ha *ha)
{
    return ha->membership.is_address_away ? ha_t(ha) / 2 : 0;
}

static int64_t delay(const struct ha *ha, int64_t now)
{
    if (is_wanted(ha, now) && strcmp(control(ha)->wanted, CONTROL_ANY) != 0)
        return 0;
    if (is_another_wanted(ha, now) || now < ha->stood_back_until_boot_ms)
        return ha_t(ha) / 2;
    return delay_by_lease(ha, now) + delay_by_priority(ha) + delay_by_address(ha);
}

static void stand(struct ha *ha, int64_t now)
{
    int64_t at;

    if (!may_stand(ha, now)) {
        ha->able_since_boot_ms = 0;
        return;
    }
    if (!ha->able_since_boot_ms)
        ha->able_since_boot_ms = now;
    at = ha->able_since_boot_ms + delay(ha, now);
    context_wake_at(&ha->context, at);
    if (now >= at)
        election_try(&ha->election, ha_fence(ha, ha->view.ensemble), false);
}

/* The leader is asked first: it has T/3 to give the lead away gracefully. */
static void stand_by_force(struct ha *ha, int64_t now)
{
    int32_t version = ha->view.items[VIEW_CONTROL].version;

    if (!ha->force_since_boot_ms || ha->force_version != version) {
        ha->force_since_boot_ms = now;
        ha->force_version = version;
    }
    context_wake_at(&ha->context, ha->force_since_boot_ms + ha_t(ha) / 3);
    if (now >= ha->force_since_boot_ms + ha_t(ha) / 3)
        election_try(&ha->election, ha_fence(ha, ha->view.ensemble), true);
}

/* Who gave the lead away lets others go first: until one of them has led. */
static void note_successor(struct ha *ha)
{
    if (view_is_fresh(&ha->view, VIEW_LEADER) && view_has_leader(&ha->view) &&
        !view_leader_is(&ha->view, ha->session))
        ha->stood_back_until_boot_ms = 0;
}

void ha_standby_tick(struct ha *ha, int64_t now)
{
    bool by_force = control(ha)->is_forced && !strcmp(control(ha)->wanted, ha->options.node) &&
                    view_has_leader(&ha->view);

    if (ha->is_leaving) {
        ha_enter(ha, ROLE_OFFLINE, ROLE_STOPPING_REASON);
        return;
    }
    if (ha->lead.is_mine) {
        lead_tick(ha, now);
        return;
    }
    note_successor(ha);
    if (!is_able(ha, now)) {
        ha->able_since_boot_ms = 0;
        return;
    }
    if (!knows_all(ha))
        return; /* something is being read again: its wait goes on meanwhile */
    if (by_force) {
        stand_by_force(ha, now);
    } else {
        ha->force_since_boot_ms = 0;
        stand(ha, now);
    }
}
