/* All that this node knows, for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ha/state.h"

static void add_node(const struct ha *ha, unsigned *count, const struct ha_node *n)
{
    struct ha_node *shown = &ha->nodes_shown[(*count)++];

    *shown = *n;
    shown->is_member = view_is_member(&ha->view, n->name);
    shown->is_scanning = scanners_have(&ha->scanners, n->name);
    if (strcmp(n->name, ha->options.node) != 0)
        return;
    shown->store_up = ha->store_up; /* newer than what was read */
    shown->is_address_away = ha->membership.is_address_away;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ha_node *)a)->name, ((const struct ha_node *)b)->name);
}

/* Who is here, and the members that are not. */
static unsigned show_nodes(const struct ha *ha)
{
    const struct view *v = &ha->view;
    unsigned count = 0;

    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        const struct ha_node *n = &v->nodes[i].node;

        if (v->nodes[i].is_used &&
            (n->is_here || (v->member_count > 0 && view_is_member(v, n->name))))
            add_node(ha, &count, n);
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
        if (site_is_connected(&ha->site))
            strcpy(s->leader, ha->view.leader.node);
        strcpy(s->leader_token.ensemble, ha->view.ensemble);
        s->leader_token.epoch = ha->view.leader.epoch;
    }
}

void ha_status(const struct ha *ha, struct ha_status *s)
{
    int64_t now = site_now(&ha->site), until = ha_until(ha);
    const struct coordinator *c = ha->site.coordinator;

    *s = (struct ha_status){
        .role = &ha->role,
        .lease_left_ms = ha->lead.is_mine && until > now ? until - now : 0,
        .is_failsafe =
            ha->failsafe.is_on && write_lease_until(&ha->site.lease) <= now && until > now,
        .is_paused = ha->view.control.is_paused,
        .paused_at_wall_ms = ha->view.control.paused_at_wall_ms,
        .paused_by = ha->view.control.paused_by,
        .stale_ms = site_is_connected(&ha->site) ? 0 : now - ha->in_touch_boot_ms,
        .wanted_at_wall_ms = ha->view.control.at_wall_ms,
        .is_forced = ha->view.control.is_forced,
        .session = c->session,
        .server = c->server,
        .session_why = c->why,
        .granted_ms = c->granted_ms,
        .tick_ms = c->tick_ms,
        .alone_ms = ha->alone_since_boot_ms ? now - ha->alone_since_boot_ms : 0,
        .is_flapping = ha->is_flapping,
        .is_mixed = ha->scanners.is_mixed,
        .scanner_count = ha->scanners.count,
        .transitions = ha->view.history.changes,
        .transition_count = ha->view.history.count,
        .elections_lost = ha->election.lost,
        .fenced = ha->fenced_count,
        .sessions = ha->session_count,
        .reconnects = ha->reconnects,
        .without_leader_total_ms =
            ha->without_leader_ms +
            (ha->alone_since_boot_ms ? (uint64_t)(now - ha->alone_since_boot_ms) : 0),
        .last_failover_ms = ha->last_failover_ms,
        .peer_deaths = ha->peer_deaths,
    };
    strcpy(s->wanted, ha->view.control.wanted);
    strcpy(s->refused, ha->refused);
    show_leader(ha, s);
    s->nodes = ha->nodes_shown;
    s->node_count = show_nodes(ha);
}
