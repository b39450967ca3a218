/* Who may stand: the znode `members`, what this node has added to it, and who could lead now.
 */
#include <stdio.h>
#include <string.h>

#include "ha/lead/membership.h"
#include "ha/rule/record.h"

static void propose(struct membership *m, struct buf *text, const char *name)
{
    record_add(text, "member", name);
    for (unsigned i = 0; i < m->proposed_count; i++) {
        if (!strcmp(m->proposed[i], name))
            return;
    }
    if (m->proposed_count < PEERS_MAX)
        snprintf(m->proposed[m->proposed_count++], HA_NODE_MAX + 1, "%s", name);
}

static bool is_new(const struct membership *m, const struct view_node *n)
{
    return n->is_used && n->node.is_here &&
           (m->view->member_count == 0 || !view_is_member(m->view, n->node.name));
}

void membership_propose(struct membership *m, int64_t session_ms, struct buf *text)
{
    struct view *v = m->view;
    unsigned count = v->member_count;

    buf_clear(text);
    record_add_number(text, "timeout_ms", session_ms);
    for (unsigned i = 0; i < v->member_count; i++)
        propose(m, text, v->members[i]);
    for (unsigned i = 0; i < VIEW_NODES_MAX && count < PEERS_MAX; i++) {
        if (is_new(m, &v->nodes[i])) {
            propose(m, text, v->nodes[i].node.name);
            count++;
        }
    }
    /* Read behind the write that follows: until then the proposed ones count. */
    view_refresh(v, VIEW_MEMBERS);
}

void membership_tell(const struct membership *m, struct failsafe *f)
{
    const struct view *v = m->view;
    const char *own = m->site->options->node;

    for (unsigned i = 0; i < v->member_count; i++) {
        if (strcmp(v->members[i], own) != 0)
            failsafe_add_member(f, v->members[i]);
    }
    for (unsigned i = 0; i < m->proposed_count; i++) {
        if (strcmp(m->proposed[i], own) != 0)
            failsafe_add_member(f, m->proposed[i]);
    }
}

bool membership_is_listed(const struct membership *m)
{
    const struct view *v = m->view;

    return v->items[VIEW_MEMBERS].is_known && v->member_count > 0 &&
           view_is_member(v, m->site->options->node);
}

/* `members` is being read already. */
void membership_on_added(struct ask *ask)
{
    struct membership *m = CONTAINER_OF(ask, struct membership, adding);

    if (ask->call.status != COORD_OK)
        m->add_boot_ms = site_now(m->site) + site_session_ms(m->site) / 6;
}

static bool is_anybody_new(const struct membership *m)
{
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        if (is_new(m, &m->view->nodes[i]))
            return true;
    }
    return false;
}

bool membership_is_full(const struct membership *m)
{
    return m->view->member_count == PEERS_MAX && is_anybody_new(m);
}

static bool has_new_nodes(const struct membership *m)
{
    return is_anybody_new(m) && !membership_is_full(m);
}

void membership_add(struct membership *m, const struct lead *lead, int64_t now)
{
    struct view *v = m->view;
    int64_t session_ms = site_session_ms(m->site);

    if (m->adding.is_in_flight || !view_is_fresh(v, VIEW_MEMBERS))
        return;
    m->proposed_count = 0; /* `members` is as it says */
    if (!lead->is_mine || !lead->is_taken_up ||
        (!has_new_nodes(m) && v->members_timeout_ms == session_ms))
        return;
    if (now < m->add_boot_ms) {
        site_wake_at(m->site, m->add_boot_ms);
        return;
    }
    membership_propose(m, session_ms, &m->add_text);
    m->add[0] = (struct coord_change){
        .kind = COORD_CHECK, .path = v->items[VIEW_EPOCH].path, .version = lead->epoch_version};
    m->add[1] = (struct coord_change){.kind = COORD_SET,
                                      .path = v->items[VIEW_MEMBERS].path,
                                      .data = buf_bytes(&m->add_text),
                                      .version = v->items[VIEW_MEMBERS].version};
    ask_write(&m->adding, m->add, 2);
}

bool membership_can_lead(const struct membership *m, const struct ha_node *n, bool is_wanted)
{
    return n->is_here && n->store_up && !n->is_address_away &&
           view_is_member(m->view, n->name) && (is_wanted || !n->no_failover);
}

bool membership_is_candidate(const struct membership *m, const struct view_node *n)
{
    return n->is_used && strcmp(n->node.name, m->site->options->node) != 0 &&
           membership_can_lead(m, &n->node, false);
}

const struct ha_node *membership_best(const struct membership *m)
{
    const struct ha_node *best = NULL;

    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        const struct view_node *n = &m->view->nodes[i];

        if (!membership_is_candidate(m, n))
            continue;
        if (!best || n->node.priority > best->priority ||
            (n->node.priority == best->priority && strcmp(n->node.name, best->name) < 0))
            best = &n->node;
    }
    return best;
}
