/* A node that leads: it steps down first of all when it has to, carries out operators'
 * requests, and gives the lead away gracefully.
 */
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

/* ---- stepping down ---- */

static bool has_session(const struct ha *ha)
{
    enum coord_session session = ha->context.coordinator->session;

    return session == COORD_SESSION_CONNECTED || session == COORD_SESSION_CONNECTING;
}

/* No node of this cluster can have a higher token than another ensemble's: an operator must
 * help.
 */
static void fenced_by_another_ensemble(struct ha *ha, int64_t now)
{
    char seen[TOKEN_TEXT_LEN + 1];

    ha->resumes_from_boot_ms = now + HA_FENCED_AGAIN_MS;
    if (token_is_standalone(&ha->fenced_by)) {
        ha_refuse(ha,
                  "Redis was given to standalone nodes (`dueqctl fence adopt` at one of them): "
                  "if they are gone for good, take over with `dueqctl fence adopt`; else check "
                  "store.redis and store.prefix");
    } else {
        token_print(&ha->fenced_by, seen);
        ha_refuse(
            ha,
            "Redis follows another ZooKeeper ensemble (token %s): if that one is gone for "
            "good, take over with `dueqctl fence adopt`; else check ha.zookeeper and "
            "store.redis",
            seen);
    }
    ha->refused_for = HA_REFUSED_FENCED;
}

static void fenced(struct ha *ha, int64_t now)
{
    const struct token *seen = &ha->fenced_by;
    bool leads = ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING;
    enum role_reason why = ROLE_FENCED_REASON;
    const char *ensemble =
        leads || ha->lead.is_mine ? ha->lead.token.ensemble : ha->view.ensemble;

    ha->is_fenced = false;
    if (!strcmp(seen->ensemble, ensemble)) {
        if (leads)
            ha_history_note_left(ha, role_reason_word(ROLE_FENCED_REASON));
        if (seen->epoch > ha_fence(ha, ensemble))
            ha->fence = *seen;
        ha->campaigns_from_boot_ms = ha->resumes_from_boot_ms = now + ha_t(ha);
    } else if (leads) {
        fenced_by_another_ensemble(ha, now);
        why = ROLE_OTHER_ENSEMBLE_REASON;
    }
    if (leads)
        ha_enter(ha, ROLE_STANDBY, why);
}

static void step_down_standby(struct ha *ha)
{
    if (!has_session(ha))
        ha_enter(ha, ROLE_OFFLINE, ROLE_EXPIRED_REASON);
    else if (!context_is_connected(&ha->context))
        ha_enter(ha, ROLE_OFFLINE, ROLE_DISCONNECTED_REASON);
}

/* Has another leader come after this node's own lead? After a wipe epochs begin anew. */
static bool is_led_since(const struct ha *ha)
{
    const struct token *own = &ha->role.token;

    return !ha->lead.is_mine && view_is_fresh(&ha->view, VIEW_LEADER) &&
           view_has_leader(&ha->view) &&
           (strcmp(ha->view.ensemble, own->ensemble) != 0 ||
            ha->view.leader.epoch > own->epoch);
}

/* "Fenced by another ensemble" stands until this node has led for T without being fenced, or
 * another node leads. */
static void fence_tick(struct ha *ha)
{
    if (is_led_since(ha))
        ha_refused_no_more(ha, HA_REFUSED_FENCED);
    ha->membership.is_fenced = ha->role.state == ROLE_STANDBY && ha->lead.is_mine &&
                               ha->refused[0] && ha->refused_for == HA_REFUSED_FENCED;
}

void ha_step_down_tick(struct ha *ha, int64_t now)
{
    fence_tick(ha);
    if (ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING) {
        if (!has_session(ha))
            ha_enter(ha, ROLE_OFFLINE, ROLE_EXPIRED_REASON);
        else if (!ha->lead.is_mine)
            ha_enter(ha, ROLE_STANDBY,
                     ha->role.state == ROLE_DRAINING && ha->election.has_given_away
                         ? ROLE_HANDED_OVER_REASON
                         : ROLE_DEPOSED_REASON);
        else if (now >= ha_until(ha))
            ha_enter(ha, ROLE_OFFLINE, ROLE_LEASE_OVER_REASON);
    }
    if (ha->is_fenced)
        fenced(ha, now);
    if (ha->role.state == ROLE_STANDBY)
        step_down_standby(ha);
}

/* ---- requests ---- */

static void on_control(struct coord_request *request)
{
    struct ha *ha = CONTAINER_OF(request, struct ha, control_request);

    view_refresh(&ha->view, VIEW_CONTROL);
}

/* Writes `control` as the leader: the write checks the epoch. */
static void write_control(struct ha *ha, const struct control *c)
{
    const struct view_znode *items = ha->view.items;

    buf_clear(&ha->control_text);
    control_print(c, &ha->control_text);
    ha->control_changes[0] = (struct coord_change){
        .kind = COORD_CHECK, .path = items[VIEW_EPOCH].path, .version = ha->lead.epoch_version};
    ha->control_changes[1] = (struct coord_change){.kind = COORD_SET,
                                                   .path = items[VIEW_CONTROL].path,
                                                   .data = buf_bytes(&ha->control_text),
                                                   .version = items[VIEW_CONTROL].version};
    coord_request_init(&ha->control_request, &ha->context, on_control);
    coord_request_write(&ha->control_request, ha->control_changes, 2);
}

static void clear_request(struct ha *ha, const char *why)
{
    struct control c = ha->view.control;

    LOG_INFO("ha", "takes the request for %s as the leader back: %s", c.wanted, why);
    control_clear_request(&c);
    write_control(ha, &c);
}

/* The node that would lead next, as far as known; NULL: none could. */
static const struct ha_node *successor(const struct ha *ha)
{
    const struct control *c = &ha->view.control;
    const struct view_node *n;

    if (ha->draining_for != ROLE_SWITCHOVER_REASON || !c->wanted[0] ||
        !strcmp(c->wanted, CONTROL_ANY))
        return membership_best(&ha->membership);
    n = view_find(&ha->view, c->wanted);
    return n && membership_can_lead(&ha->membership, &n->node, true) ? &n->node : NULL;
}

/* When that node may campaign. A node that has just started waits 2T/3 (it could have promised)
 * and has to prove a lease; a lead given away sooner would leave the cluster without a leader.
 */
static int64_t settles_at(const struct ha *ha, const struct ha_node *n)
{
    return view_find(&ha->view, n->name)->since_boot_ms + view_longest_session_ms(&ha->view);
}

static bool is_settled(struct ha *ha, const struct ha_node *n, int64_t now)
{
    int64_t at = settles_at(ha, n);

    if (now < at)
        context_wake_at(&ha->context, at);
    return now >= at;
}

static void drain(struct ha *ha, enum role_reason why)
{
    ha->draining_for = why;
    ha->election.has_given_away = false;
    ha_history_note_left(ha, role_reason_word(why));
    ha_enter(ha, ROLE_DRAINING, why);
}

/* Can a node that the due request means campaign as soon as the lead is free? For "*" any such
 * node will do, not only the best: a node that has been here for longer goes first. */
static bool is_one_settled(struct ha *ha, const struct control *c, int64_t now)
{
    bool is_one = false;

    if (strcmp(c->wanted, CONTROL_ANY) != 0)
        return is_settled(ha, successor(ha), now);
    VIEW_EACH_NODE (n, &ha->view) {
        if (membership_is_candidate(&ha->membership, n) && is_settled(ha, &n->node, now))
            is_one = true;
    }
    return is_one;
}

/* True: the tick has decided something. */
static bool request_tick(struct ha *ha, int64_t now)
{
    struct control c = ha->view.control;
    bool is_due = control_has_request(&c, ha->options.now_wall_ms(ha->options.arg));

    if (!c.wanted[0] || ha->control_request.is_in_flight ||
        !view_is_fresh(&ha->view, VIEW_CONTROL))
        return false;
    ha->draining_for = ROLE_SWITCHOVER_REASON;
    if (!strcmp(c.wanted, ha->options.node)) {
        clear_request(ha, "it leads");
    } else if (ha->lead.done_request == ha->view.items[VIEW_CONTROL].version) {
        clear_request(ha, strcmp(c.wanted, CONTROL_ANY)
                              ? "that node did not take it, this one did"
                              : "it was carried out");
    } else if (c.is_forced) {
        c.is_forced = false; /* this leader answers, so it gives the lead away gracefully */
        write_control(ha, &c);
    } else if (is_due && !successor(ha)) {
        clear_request(ha, "that node could not lead now");
    } else if (is_due && is_one_settled(ha, &c, now)) {
        drain(ha, ROLE_SWITCHOVER_REASON);
        return true;
    }
    return false;
}

/* ---- LEADER ---- */

/* Is a node of higher priority here, after a tenure? Not while the lead moves too often. */
static bool is_another_preferred(struct ha *ha, int64_t now)
{
    const struct ha_node *best = membership_best(&ha->membership);

    return best && best->priority > ha->options.priority && !ha->is_flapping &&
           !ha->view.control.is_paused && view_is_fresh(&ha->view, VIEW_CONTROL) &&
           now >= ha->role.since_boot_ms + ha->options.tenure_ms && is_settled(ha, best, now);
}

/* When the lead may be given away for the address. The other nodes check theirs once a second.
 * A fault that all nodes share may escape these checks, so each node gives the lead away for
 * want of the address only once in a tenure. */
static int64_t address_moves_at(const struct ha *ha)
{
    int64_t settled = ha->address_since_boot_ms + ha_t(ha);
    int64_t again = ha->address_given_boot_ms + ha->options.tenure_ms;

    return ha->address_given_boot_ms && again > settled ? again : settled;
}

static bool is_address_away(struct ha *ha, int64_t now)
{
    if (!ha->membership.is_address_away || ha->is_flapping || ha->view.control.is_paused ||
        !membership_best(&ha->membership))
        return false;
    context_wake_at(&ha->context, address_moves_at(ha));
    return now >= address_moves_at(ha);
}

void ha_leader_tick(struct ha *ha, int64_t now)
{
    context_wake_at(&ha->context, ha_until(ha));
    if (now >= ha->role.since_boot_ms + ha_t(ha))
        ha_refused_no_more(ha, HA_REFUSED_FENCED);
    if (ha->stop >= STOP_LEADING) {
        drain(ha, ROLE_STOPPING_REASON);
        return;
    }
    if (!context_is_connected(&ha->context) || request_tick(ha, now))
        return;
    if (ha_is_store_away(ha, now))
        drain(ha, ROLE_STORE_AWAY_REASON);
    else if (is_address_away(ha, now)) {
        ha->address_given_boot_ms = now;
        drain(ha, ROLE_ADDRESS_AWAY_REASON);
    } else if (is_another_preferred(ha, now))
        drain(ha, ROLE_PREFERRED_REASON);
}

/* ---- DRAINING ---- */

void ha_draining_tick(struct ha *ha, int64_t now)
{
    int64_t end = ha->role.since_boot_ms + ROLE_DRAINING_MAX_MS;

    context_wake_at(&ha->context, end);
    context_wake_at(&ha->context, ha_until(ha));
    if (ha->stop != STOP_NOT) {
        context_wake_at(&ha->context, ha->stop_by_boot_ms);
        if (now >= ha->stop_by_boot_ms) {
            ha_enter(ha, ROLE_OFFLINE, ROLE_STOPPING_REASON);
            return;
        }
    } else if (!ha->election.giving.is_in_flight && !successor(ha)) {
        /* While the lead may already be given away, the next beat finds out. */
        if (!ha->lead.is_doubtful) {
            ha_history_note_left(ha, NULL);
            ha_enter(ha, ROLE_LEADER, ROLE_NOT_TAKEN_REASON);
        }
        return;
    }
    /* Requests that a silent Redis has not answered will be fenced when another node leads. */
    if (!ha->is_drained && ha->store_up && now < end)
        return;
    ha->yields_until_boot_ms = now + ha_t(ha) / 2;
    election_give_away(&ha->election);
}
