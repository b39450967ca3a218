/* A node that does not lead: it joins, campaigns when the lead is free, and takes up a lead
 * that is its own as soon as it has proven a lease on it.
 *
 * Also a node whose Redis does not answer while another node's does. It alone is cut off, so
 * the lead and its shares of the topics go to the others. A Redis that stands still does so for
 * all nodes: then everything stays where it is.
 */
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

/* The znodes of other nodes are read in turn, each once in T: too seldom for this. */
static void look_at_others(struct ha *ha, int64_t now)
{
    if (now < ha->store_looked_boot_ms + ha_t(ha) / 4)
        return;
    ha->store_looked_boot_ms = now;
    view_refresh_nodes(&ha->view);
    context_wake(&ha->context);
}

/* 3T/4 is long enough for the others to find out that their Redis is silent, too, to say so and
 * to be read; and for this node to find out when Redis is back for all. A node takes T/4 to
 * 3T/8 to notice a silent Redis (node/wiring.c), so a cut-off node lets go after 9T/8 at most.
 */
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

bool ha_is_store_away(struct ha *ha, int64_t now)
{
    bool is_so =
        !ha->store_up && !ha->view.control.is_paused && membership_best(&ha->membership);

    return has_lasted(ha, &ha->store_away_boot_ms, is_so, now);
}

/* Is there another node with a Redis that answers, and that scans? It would get the shares. */
static bool has_another_its_redis(const struct ha *ha)
{
    VIEW_EACH_NODE (n, &ha->view) {
        if (n->node.is_here && n->node.store_up &&
            strcmp(n->node.name, ha->options.node) != 0 &&
            scanners_have(&ha->scanners, n->node.name))
            return true;
    }
    return false;
}

/* The node stays cut off until its own Redis answers again, even if the others' fall silent. */
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

/* ---- a lead that is ours ---- */

static bool is_outdated(const struct ha *ha)
{
    return ha->lead.token.epoch <= ha_fence(ha, ha->lead.token.ensemble);
}

/* This node must not act as the leader before. */
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
        return "it has promised not to campaign";
    if (now > since + ha_t(ha))
        return "no lease was proven in time";
    return NULL;
}

/* Is it a lead that this node had before? */
static bool is_known_lead(const struct ha *ha)
{
    return ha->role.state == ROLE_OFFLINE ||
           (ha->has_won_reported && token_equal(&ha->won, &ha->lead.token));
}

/* A lead is taken up again only with T/4 of lease ahead: the first lease after the servers have
 * stood still ends soon, and the role would flap. */
static bool has_lease(const struct ha *ha, int64_t now)
{
    return ha_until(ha) > now + (is_known_lead(ha) ? ha_t(ha) / 4 : 0);
}

/* An elected node, or an owner that is connected again, leads once the lease is proven. */
static void lead_tick(struct ha *ha, int64_t now)
{
    const char *why = why_give_away(ha, now);
    int64_t begins = begins_at(ha);

    if (!context_is_connected(&ha->context))
        return;
    if (why) {
        LOG_DEBUG("ha", "gives the lead away: %s", why);
        ha->yields_until_boot_ms = now + ha_t(ha) / 2;
        election_give_away(&ha->election);
        return;
    }
    if (now < begins)
        context_wake_at(&ha->context, begins);
    if (now < begins || !has_lease(ha, now) || ha->election.giving.is_in_flight ||
        ha->lead.is_doubtful || ha->stop != STOP_NOT)
        return;
    /* The node was away: the znode may have been taken from it meanwhile. */
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
    if (ha->stop != STOP_NOT || !ha->membership.is_registered || !knows_all(ha))
        return;
    ha->has_joined = true;
    /* A node does not know what it promised before its start, nor whether it was set up to
     * promise then: it starts as if it had promised, for the longest T that is known. */
    failsafe_promise(&ha->promise, ha->started_boot_ms, view_longest_session_ms(&ha->view));
    ha->refused[0] = '\0';
    ha_enter(ha, ROLE_STANDBY, ROLE_JOINED_REASON);
}

/* ---- campaigning ---- */

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

/* Could this node make an attempt, even by force? To make one, knows_all() must hold, too. */
static bool is_able(const struct ha *ha, int64_t now)
{
    return ha->membership.is_registered && ha->store_up && ha->stop == STOP_NOT &&
           ha->view.ensemble[0] && ha->view.has_epoch &&
           ha_fence(ha, ha->view.ensemble) < TOKEN_EPOCH_MAX &&
           ha->election.state == ELECTION_NONE && !ha->election.request.is_in_flight &&
           !ha->lead.is_mine && now >= ha->election.retry_boot_ms &&
           view_is_member(&ha->view, ha->options.node);
}

static bool may_campaign(struct ha *ha, int64_t now)
{
    bool wanted = is_wanted(ha, now);

    if (now < ha->promise.until_boot_ms)
        context_wake_at(&ha->context, ha->promise.until_boot_ms);
    if (now < ha->campaigns_from_boot_ms)
        context_wake_at(&ha->context, ha->campaigns_from_boot_ms);
    return !view_has_leader(&ha->view) && (wanted || !control(ha)->is_paused) &&
           (wanted || !ha->options.no_failover) && !failsafe_has_promised(&ha->promise, now) &&
           now >= ha->campaigns_from_boot_ms;
}

/* 0 to T/20: longer the further this node's priority is below that of the best node. */
static int64_t delay_by_priority(const struct ha *ha)
{
    const struct ha_node *best = membership_best(&ha->membership);

    if (!best || best->priority <= ha->options.priority)
        return 0;
    return (int64_t)(best->priority - ha->options.priority) * (ha_t(ha) / 20) / 100;
}

/* A node that has just joined would wait for its lease when elected, so nodes go first that may
 * act at once. Without such nodes the delay costs little or nothing. */
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
    if (is_another_wanted(ha, now) || now < ha->yields_until_boot_ms)
        return ha_t(ha) / 2;
    return delay_by_lease(ha, now) + delay_by_priority(ha) + delay_by_address(ha);
}

static void campaign(struct ha *ha, int64_t now)
{
    int64_t at;

    if (!may_campaign(ha, now)) {
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
static void campaign_by_force(struct ha *ha, int64_t now)
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

/* A node that gave the lead away lets others go first until one of them leads. */
static void note_successor(struct ha *ha)
{
    if (view_is_fresh(&ha->view, VIEW_LEADER) && view_has_leader(&ha->view) &&
        !view_leader_is(&ha->view, ha->session))
        ha->yields_until_boot_ms = 0;
}

void ha_standby_tick(struct ha *ha, int64_t now)
{
    bool by_force = control(ha)->is_forced && !strcmp(control(ha)->wanted, ha->options.node) &&
                    view_has_leader(&ha->view);

    if (ha->stop >= STOP_LEADING) {
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
        return; /* an item is being read again: able_since_boot_ms stays */
    if (by_force) {
        campaign_by_force(ha, now);
    } else {
        ha->force_since_boot_ms = 0;
        campaign(ha, now);
    }
}
