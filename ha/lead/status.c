/* This node's knowledge, for people, in three parts:
 *   - a fault that only a human can mend, why nobody, or not this node, can lead: logged, and
 *     shown by ha_status() for as long as the fault is there;
 *   - all that ha_status() shows;
 *   - the history of the lead, and for how long there was no leader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ha/rule/record.h"
#include "ha/state.h"

#define UNLISTED_MAX_TS 3 /* in T; a leader adds a new node within one T */

/* ---- faults that take a while to be sure of ---- */

static bool is_unlisted(const struct ha *ha)
{
    const struct view *v = &ha->view;

    return ha->membership.is_registered && v->items[VIEW_MEMBERS].is_known &&
           view_has_leader(v) && !ha->lead.is_mine && !view_is_member(v, ha->options.node);
}

static void note_unlisted(struct ha *ha, int64_t now)
{
    if (!is_unlisted(ha))
        ha->unlisted_since_boot_ms = 0;
    else if (!ha->unlisted_since_boot_ms)
        ha->unlisted_since_boot_ms = now;
}

/* With round trips above T/9 less than T/4 of the lease is left when it is proven; above T/8
 * the lease ends in each beat, and nobody can take a lead up (rule/lease.h). The fault is
 * reported from there on, with the round trip of that moment, until it is T/9 or less. */
static void note_rtt(struct ha *ha)
{
    int64_t rtt_ms = heartbeat_rtt_ms(&ha->heartbeat);

    if (rtt_ms <= ha_t(ha) / 9)
        ha->long_rtt_ms = 0;
    else if (rtt_ms > ha_t(ha) / 8 && !ha->long_rtt_ms)
        ha->long_rtt_ms = rtt_ms;
}

/* ---- faults ---- */

/* Is the item there, as last read? A report stands while the item is read again. */
static bool is_read(const struct ha *ha, enum view_item item)
{
    return ha->view.items[item].is_known && ha->view.items[item].exists;
}

/* Is it certain that no member is here? */
static bool is_no_member_here(const struct ha *ha)
{
    const struct view_node *own = view_find(&ha->view, ha->options.node);

    VIEW_EACH_NODE (n, &ha->view) {
        if (!n->znode.is_known || (n->node.is_here && view_is_member(&ha->view, n->node.name)))
            return false;
    }
    return own && own->node.is_here;
}

/* What is wrong with `item`, for a node that has joined; NULL: all items are right. */
static const char *wrong_item(const struct ha *ha, enum view_item *item)
{
    const struct view *v = &ha->view;

    *item = VIEW_ENSEMBLE;
    if (is_read(ha, VIEW_ENSEMBLE) && !v->ensemble[0])
        return "does not say a uuid of 32 lower-case hexadecimal digits; set it right, or "
               "delete it";
    *item = VIEW_EPOCH;
    if (is_read(ha, VIEW_EPOCH) && !v->has_epoch)
        return "does not say an epoch; set it to `epoch N`, N higher than any before";
    if (ha_fence(ha, v->ensemble) >= TOKEN_EPOCH_MAX)
        return "cannot get higher than the epoch that Redis has seen: that one is damaged; see "
               "its keys dq:{...}:f";
    *item = VIEW_LEADER;
    if (is_read(ha, VIEW_LEADER) && v->items[VIEW_LEADER].owner == 0)
        return "belongs to no session, so it would stay for ever; delete it";
    *item = VIEW_MEMBERS;
    if (is_read(ha, VIEW_MEMBERS) && v->items[VIEW_LEADER].is_known && !view_has_leader(v) &&
        is_no_member_here(ha))
        return "names nobody who is here; start a member, or forget those that are gone for "
               "good";
    if (membership_is_full(&ha->membership))
        return "is full, so nodes that are new cannot lead; forget those that are gone for "
               "good";
    if (ha->unlisted_since_boot_ms &&
        context_now(&ha->context) >= ha->unlisted_since_boot_ms + UNLISTED_MAX_TS * ha_t(ha))
        return "is not given this node's name by the leader: perhaps that one may not read "
               "what this node writes; give all nodes the same ha.auth (or none)";
    return NULL;
}

/* The path that this node must not read. A starting node ends when it is refused, but not for
 * the history, which is not needed to lead. */
static const char *denied_path(const struct ha *ha)
{
    const char *path = view_denied(&ha->view);

    return path == ha->view.items[VIEW_HISTORY].path && !ha->has_joined ? NULL : path;
}

static void say_duplicate(struct ha *ha)
{
    const struct view_node *other = view_find(&ha->view, ha->options.node);
    const char *peer = other ? other->node.peer : "", *http = other ? other->node.http : "";

    ha_refuse(ha,
              "another node of the name %s is in this cluster, at %s%s%s; give each node a "
              "node.id of its own",
              ha->options.node, *peer ? peer : "an unknown address", *http ? ", HTTP at " : "",
              http);
}

/* Reports what keeps the node out of the cluster. False: nothing does. */
static bool say_what_keeps_it_out(struct ha *ha)
{
    const char *denied = denied_path(ha);

    if (ha->membership.is_duplicate)
        say_duplicate(ha);
    else if (ha->membership.is_denied)
        ha_refuse(ha,
                  "ZooKeeper does not let this node write to %s: its znodes belong to other "
                  "credentials; give all nodes the same ha.auth",
                  ha->options.root);
    else if (denied)
        ha_refuse(ha,
                  "%s: ZooKeeper does not let this node read it; give all nodes the same "
                  "ha.auth, or mend its access list",
                  denied);
    else
        return false;
    return true;
}

/* Reports what is wrong for a node that has joined. */
static bool say_what_is_wrong(struct ha *ha)
{
    const char *wrong, *path;
    enum view_item item;

    if ((wrong = wrong_item(ha, &item)))
        ha_refuse(ha, "%s: %s", ha->view.items[item].path, wrong);
    else if ((path = scanners_denied(&ha->scanners)))
        ha_refuse(ha,
                  "%s: ZooKeeper does not let this node read or write it, so this node moves "
                  "only what others leave late; give all nodes the same ha.auth, or mend its "
                  "access list",
                  path);
    else if ((path = view_denied_node(&ha->view)))
        ha_refuse(
            ha,
            "%s: ZooKeeper does not let this node read it, so that node cannot lead; give "
            "all nodes the same ha.auth (or none)",
            path);
    else if (ha->long_rtt_ms)
        ha_refuse(
            ha,
            "the round trip to ZooKeeper of %lld ms is too long for T = %lld ms: no lease "
            "lasts; raise ha.session_timeout on all nodes",
            (long long)ha->long_rtt_ms, (long long)ha_t(ha));
    else
        return false;
    return true;
}

/* Reports only the gravest fault: two in turn would be reported anew in each tick. */
void ha_stuck_tick(struct ha *ha, int64_t now)
{
    if (!context_is_connected(&ha->context))
        return; /* nothing is known */
    note_unlisted(ha, now);
    note_rtt(ha);
    if (ha->refused[0] && ha->refused_for == HA_REFUSED_FENCED)
        return; /* that comes first */
    if (say_what_keeps_it_out(ha) || (ha->has_joined && say_what_is_wrong(ha)))
        ha->refused_for = HA_REFUSED_STUCK;
    else
        ha_refused_no_more(ha, HA_REFUSED_STUCK);
}

/* ---- ha_status() ---- */

static void add_node(const struct ha *ha, unsigned *count, const struct ha_node *n)
{
    struct ha_node *shown = &ha->nodes_shown[(*count)++];

    *shown = *n;
    shown->is_member = view_is_member(&ha->view, n->name);
    shown->is_scanning = scanners_have(&ha->scanners, n->name);
    if (strcmp(n->name, ha->options.node) != 0)
        return;
    shown->store_up = ha->store_up; /* newer than in the znode */
    shown->is_address_away = ha->membership.is_address_away;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ha_node *)a)->name, ((const struct ha_node *)b)->name);
}

/* The nodes that are here, and the members that are not. */
static unsigned show_nodes(const struct ha *ha)
{
    const struct view *v = &ha->view;
    unsigned count = 0;

    VIEW_EACH_NODE (n, v) {
        if (n->node.is_here || (v->member_count > 0 && view_is_member(v, n->node.name)))
            add_node(ha, &count, &n->node);
    }
    for (unsigned i = 0; i < v->member_count; i++) {
        struct ha_node gone = {.is_here = false};

        if (view_find(v, v->members[i]))
            continue;
        strcpy(gone.name, v->members[i]);
        add_node(ha, &count, &gone);
    }
    qsort(ha->nodes_shown, count, sizeof(*ha->nodes_shown), by_name);
    return count;
}

static void show_leader(const struct ha *ha, struct ha_status *s)
{
    if (ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING) {
        strcpy(s->leader, ha->options.node);
        s->leader_token = ha->role.token;
    } else if (view_has_leader(&ha->view)) { /* as last read, perhaps long ago */
        if (context_is_connected(&ha->context))
            strcpy(s->leader, ha->view.leader.node);
        strcpy(s->leader_token.ensemble, ha->view.ensemble);
        s->leader_token.epoch = ha->view.leader.epoch;
    }
}

void ha_status(const struct ha *ha, struct ha_status *s)
{
    int64_t now = context_now(&ha->context), until = ha_until(ha);
    const struct coordinator *c = ha->context.coordinator;

    *s = (struct ha_status){
        .role = &ha->role,
        .lease_left_ms = ha->lead.is_mine && until > now ? until - now : 0,
        .is_failsafe =
            ha->failsafe.is_on && write_lease_until(&ha->context.lease) <= now && until > now,
        .is_paused = ha->view.control.is_paused,
        .paused_at_wall_ms = ha->view.control.paused_at_wall_ms,
        .paused_by = ha->view.control.paused_by,
        .stale_ms = context_is_connected(&ha->context) ? 0 : now - ha->in_touch_boot_ms,
        .wanted_at_wall_ms = ha->view.control.at_wall_ms,
        .is_forced = ha->view.control.is_forced,
        .session = c->session,
        .server = c->server,
        .session_why = c->why,
        .granted_ms = c->granted_ms,
        .tick_ms = c->tick_ms,
        .leaderless_ms = ha->leaderless_since_boot_ms ? now - ha->leaderless_since_boot_ms : 0,
        .is_flapping = ha->is_flapping,
        .is_mixed = ha->scanners.is_mixed,
        .is_fenced = ha->refused[0] && ha->refused_for == HA_REFUSED_FENCED,
        .scanner_count = ha->scanners.count,
        .transitions = ha->view.history.changes,
        .transition_count = ha->view.history.count,
        .elections_lost = ha->election.lost,
        .fenced = ha->fenced_count,
        .sessions = ha->session_count,
        .reconnects = ha->reconnects,
        .without_leader_total_ms =
            ha->without_leader_ms +
            (ha->leaderless_since_boot_ms ? (uint64_t)(now - ha->leaderless_since_boot_ms) : 0),
        .last_failover_ms = ha->last_failover_ms,
        .peer_deaths = ha->peer_deaths,
    };
    strcpy(s->wanted, ha->view.control.wanted);
    strcpy(s->refused, ha->refused);
    show_leader(ha, s);
    s->nodes = ha->nodes_shown;
    s->node_count = show_nodes(ha);
}

/* ---- ha_ability() ---- */

static bool has_word(const char *text, const char *word)
{
    struct bytes words = bytes_of_text(text), next;

    while (record_word(&words, &next)) {
        if (bytes_equal(next, bytes_of_text(word)))
            return true;
    }
    return false;
}

/* A node that has gone may come back as another version: only one that is here is known not to
 * be able. */
static enum ha_ability ability_of(const struct view_node *n, const char *word)
{
    if (!n || !n->znode.is_known)
        return HA_ABILITY_UNKNOWN;
    if (has_word(n->node.abilities, word))
        return HA_ABILITY_ALL;
    return n->node.is_here ? HA_ABILITY_SOME : HA_ABILITY_UNKNOWN;
}

enum ha_ability ha_ability(const struct ha *ha, const char *word)
{
    const struct view *v = &ha->view;
    bool is_known = v->items[VIEW_MEMBERS].is_known && v->list.is_known;

    VIEW_EACH_NODE (n, v) {
        enum ha_ability of_node = ability_of(n, word);

        if (of_node == HA_ABILITY_SOME)
            return HA_ABILITY_SOME;
        if (of_node == HA_ABILITY_UNKNOWN && (n->is_listed || n->node.is_here))
            is_known = false;
    }
    for (unsigned i = 0; i < v->member_count; i++) {
        if (ability_of(view_find(v, v->members[i]), word) == HA_ABILITY_UNKNOWN)
            is_known = false;
    }
    return is_known ? HA_ABILITY_ALL : HA_ABILITY_UNKNOWN;
}

/* ---- the history of the lead ----
 *
 * A new leader adds its line to the znode `history`, and tries again until that is done. A
 * leader that gives the lead away writes the reason there first.
 *
 * A leader is seen while this node is connected and sees both its znode and its beats: stale
 * items say nothing while ZooKeeper stands still, and a lease ends about T/2 after the last
 * beat. Time without a leader is counted from when it was last seen; for a leader that fell
 * silent, which most likely stood still, from its newest beat; for this node's own lead, from
 * its newest tick.
 */

#define FLAP_WINDOW_MS (10 * 60 * 1000)

static void on_written(struct coord_request *request)
{
    struct ha *ha = CONTAINER_OF(request, struct ha, history_request);
    bool is_refused =
        request->call.status == COORD_DENIED || request->call.status == COORD_ERROR;

    if (is_refused && ha->history_retry_boot_ms == 0)
        LOG_WARN("ha", "ZooKeeper refuses to write %s (%s): the history has gaps",
                 ha->view.items[VIEW_HISTORY].path, coord_status_word(request->call.status));
    ha->history_retry_boot_ms = is_refused ? context_now(&ha->context) + ha_t(ha) : 0;
    view_refresh(&ha->view, VIEW_HISTORY);
}

void ha_history_init(struct ha *ha)
{
    coord_request_init(&ha->history_request, &ha->context, on_written);
    ha->last_failover_ms = -1;
}

/* Notes how the leader seen last has ended. A session that times out ends at least T after the
 * last beat. */
static void note_end(struct ha *ha)
{
    bool has_died = ha->dead_epoch == ha->beat_epoch ||
                    ha->gone_boot_ms - ha->beat_boot_ms < ha_t(ha) * 3 / 4;

    ha->ended_epoch = ha->gone_boot_ms ? ha->beat_epoch : 0;
    ha->ended_how = has_died ? "died" : "timed_out";
}

/* Since when a leader that was seen is seen no more. */
static int64_t leaderless_since(const struct ha *ha, int64_t now)
{
    bool was_silent = now >= ha->beat_boot_ms + ha_t(ha) / 2;

    if (ha->leaderless_since_boot_ms)
        return ha->leaderless_since_boot_ms;
    return was_silent && ha->beat_boot_ms < ha->leader_seen_boot_ms ? ha->beat_boot_ms
                                                                    : ha->leader_seen_boot_ms;
}

/* A lead taken up again is news only after OFFLINE, when its lease was over. A fenced leader
 * tries again every few seconds, which is not reported each time. */
static bool was_reported(const struct ha *ha, bool is_again)
{
    return is_again && (ha->has_pending || ha->role.state != ROLE_OFFLINE);
}

void ha_history_note_lead(struct ha *ha, enum role_reason why, int64_t now)
{
    struct ha_transition *t = &ha->pending;
    bool is_again = ha->has_won_reported && token_equal(&ha->won, &ha->lead.token);

    if (was_reported(ha, is_again))
        return;
    if (why == ROLE_RESUMED_REASON && !is_again)
        why = ROLE_ELECTED_REASON; /* it was elected and did not know */
    note_end(ha);
    ha->has_won_reported = true;
    ha->won = ha->lead.token;
    *t = (struct ha_transition){.at_wall_ms = ha->options.now_wall_ms(ha->options.arg),
                                .epoch = ha->lead.token.epoch,
                                .without_leader_ms = -1};
    snprintf(t->node, sizeof(t->node), "%s", ha->options.node);
    snprintf(t->reason, sizeof(t->reason), "%s", role_reason_word(why));
    if (ha->has_seen_leader)
        t->without_leader_ms = ha->last_failover_ms = now - leaderless_since(ha, now);
    ha->has_pending = true;
}

static void write_history(struct ha *ha, const struct transitions *all)
{
    buf_clear(&ha->history_text);
    transitions_print(all, &ha->history_text);
    ha->history_change = (struct coord_change){.kind = COORD_SET,
                                               .path = ha->view.items[VIEW_HISTORY].path,
                                               .data = buf_bytes(&ha->history_text),
                                               .version = ha->view.items[VIEW_HISTORY].version};
    coord_request_write(&ha->history_request, &ha->history_change, 1);
}

static bool may_write(const struct ha *ha)
{
    return !ha->history_request.is_in_flight && view_is_fresh(&ha->view, VIEW_HISTORY) &&
           ha->view.items[VIEW_HISTORY].exists &&
           context_now(&ha->context) >= ha->history_retry_boot_ms;
}

/* The reason is sent before the lead is given away, so a successor finds it. If it cannot be
 * written, the successor does not know why, and nothing else is wrong. */
void ha_history_note_left(struct ha *ha, const char *why)
{
    struct transitions all = ha->view.history;

    if (ha->has_pending || !may_write(ha))
        return;
    all.left_epoch = why ? ha->role.token.epoch : 0;
    snprintf(all.left_reason, sizeof(all.left_reason), "%s", why ? why : "");
    if (all.left_epoch != ha->view.history.left_epoch)
        write_history(ha, &all);
}

/* ---- why the lead changed ---- */

/* The reason of an election: how the leader before has ended, as far as this node knows. */
static const char *why_elected(const struct ha *ha)
{
    const struct transitions *h = &ha->view.history;
    uint64_t before = transitions_before(h, ha->pending.epoch);

    if (ha->lead.done_request >= 0)
        return role_reason_word(ROLE_SWITCHOVER_REASON);
    if (before && h->left_epoch == before)
        return h->left_reason;
    return before && ha->ended_epoch == before ? ha->ended_how
                                               : role_reason_word(ROLE_ELECTED_REASON);
}

static void add_to_history(struct ha *ha)
{
    struct transitions all = ha->view.history;
    struct ha_transition *t = &ha->pending;

    if (!strcmp(t->reason, role_reason_word(ROLE_ELECTED_REASON)))
        snprintf(t->reason, sizeof(t->reason), "%s", why_elected(ha));
    transitions_add(&all, t);
    write_history(ha, &all);
}

static void note_flapping(struct ha *ha)
{
    int64_t wall = ha->options.now_wall_ms(ha->options.arg);
    /* Changes in the near future count, too: a clock may have been ahead. */
    unsigned changes =
        transitions_between(&ha->view.history, wall - FLAP_WINDOW_MS, wall + FLAP_WINDOW_MS);
    bool is_flapping = ha->options.flap_max > 0 && changes > ha->options.flap_max;

    if (is_flapping && !ha->is_flapping)
        LOG_WARN("ha", "the lead has changed %u times in ten minutes", changes);
    ha->is_flapping = is_flapping;
}

/* ---- is there a leader? ---- */

static void note_beat(struct ha *ha, uint64_t epoch, int32_t version, int64_t now)
{
    if (epoch == ha->beat_epoch && version == ha->beat_version)
        return;
    ha->beat_epoch = epoch;
    ha->beat_version = version;
    ha->beat_boot_ms = now;
    ha->gone_boot_ms = 0;
}

static void note_znode(struct ha *ha, int64_t now)
{
    const struct view *v = &ha->view;
    const struct view_node *n = view_leader_node(v);

    if (ha->role.state == ROLE_LEADER)
        note_beat(ha, ha->role.token.epoch, ha->beat_version - 1, now);
    if (ha->lead.is_mine || !view_is_fresh(v, VIEW_LEADER))
        return;
    if (!view_has_leader(v)) {
        ha->gone_boot_ms = ha->gone_boot_ms ? ha->gone_boot_ms : now;
        return;
    }
    if (n && n->znode.is_known)
        note_beat(ha, v->leader.epoch, n->znode.version, now);
    else
        note_beat(ha, v->leader.epoch, ha->beat_version - 1,
                  now); /* its beats cannot be seen */
}

static bool is_leader_seen(const struct ha *ha, int64_t now)
{
    return ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING ||
           (context_is_connected(&ha->context) && view_has_leader(&ha->view) &&
            !ha->lead.is_mine && now < ha->beat_boot_ms + ha_t(ha) / 2 &&
            !ha_is_leader_fenced(ha));
}

static void note_leader(struct ha *ha, int64_t now)
{
    if (is_leader_seen(ha, now)) {
        if (ha->leaderless_since_boot_ms)
            ha->without_leader_ms += (uint64_t)(now - ha->leaderless_since_boot_ms);
        ha->has_seen_leader = true;
        ha->leader_seen_boot_ms = now;
        ha->leaderless_since_boot_ms = 0;
    } else if (!ha->leaderless_since_boot_ms) {
        if (ha->has_seen_leader)
            ha->leaderless_since_boot_ms = leaderless_since(ha, now);
        else if (view_is_fresh(&ha->view, VIEW_LEADER) || now >= ha->started_boot_ms + ha_t(ha))
            ha->leaderless_since_boot_ms = now;
    }
}

void ha_history_tick(struct ha *ha, int64_t now)
{
    if (context_is_connected(&ha->context))
        ha->in_touch_boot_ms = now;
    note_znode(ha, now);
    note_leader(ha, now);
    note_flapping(ha);
    if (!ha->has_pending || !may_write(ha))
        return;
    if (transitions_has(&ha->view.history, &ha->pending))
        ha->has_pending = false;
    else
        add_to_history(ha);
}
