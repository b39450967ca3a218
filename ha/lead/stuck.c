/* Why nobody, or not this node, can lead, where only a human can help: said in the log and by
 * ha_status(), for as long as it is so.
 */
#include "ha/state.h"

#define UNLISTED_MAX_TS 3 /* so many Ts; a leader adds who is new within one */

/* ---- what takes a while to be sure of ---- */

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

/* With more than T/8 the lease gets short, with more than T/6 there is none. Said from there
 * on, with what it was then, until it is better. */
static void note_trip(struct ha *ha)
{
    int64_t trip_ms = heartbeat_trip_ms(&ha->heartbeat);

    if (trip_ms <= ha_t(ha) / 8)
        ha->long_trip_ms = 0;
    else if (trip_ms > ha_t(ha) / 6 && !ha->long_trip_ms)
        ha->long_trip_ms = trip_ms;
}

/* ---- what is wrong ---- */

/* As last read: while it is read again what was said stands. */
static bool is_read(const struct ha *ha, enum view_item item)
{
    return ha->view.items[item].is_known && ha->view.items[item].exists;
}

/* For certain. */
static bool is_no_member_here(const struct ha *ha)
{
    const struct view_node *own = view_find(&ha->view, ha->options.node);

    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        const struct view_node *n = &ha->view.nodes[i];

        if (n->is_used && (!n->znode.is_known ||
                           (n->node.is_here && view_is_member(&ha->view, n->node.name))))
            return false;
    }
    return own && own->node.is_here;
}

/* Of one that has joined. NULL: nothing is wrong with the items; else `item` is. */
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
        site_now(&ha->site) >= ha->unlisted_since_boot_ms + UNLISTED_MAX_TS * ha_t(ha))
        return "is not given this node's name by the leader: perhaps that one may not read "
               "what this node writes; give all nodes the same ha.auth (or none)";
    return NULL;
}

/* A node that begins ends when it is refused: for the history, which nobody needs to lead, it
 * does not. */
static const char *denied_path(const struct ha *ha)
{
    const char *path = view_denied(&ha->view);

    return path == ha->view.items[VIEW_HISTORY].path && !ha->has_joined ? NULL : path;
}

static void say_namesake(struct ha *ha)
{
    const struct view_node *other = view_find(&ha->view, ha->options.node);
    const char *peer = other ? other->node.peer : "", *http = other ? other->node.http : "";

    ha_refuse(ha,
              "another node of the name %s is in this cluster, at %s%s%s; give each node a "
              "node.id of its own",
              ha->options.node, *peer ? peer : "an unknown address", *http ? ", HTTP at " : "",
              http);
}

/* What keeps a node from being one of the cluster. False: nothing does. */
static bool say_what_keeps_it_out(struct ha *ha)
{
    const char *denied = denied_path(ha);

    if (ha->membership.is_namesake)
        say_namesake(ha);
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

/* Of one that has joined. */
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
    else if (ha->long_trip_ms)
        ha_refuse(
            ha,
            "the round trip to ZooKeeper of %lld ms is too long for T = %lld ms: no lease "
            "lasts; raise ha.session_timeout on all nodes",
            (long long)ha->long_trip_ms, (long long)ha_t(ha));
    else
        return false;
    return true;
}

/* Says one thing, that which weighs most: two in turn would be told anew in each tick. */
void ha_stuck_tick(struct ha *ha, int64_t now)
{
    if (!site_is_connected(&ha->site))
        return; /* nothing is known */
    note_unlisted(ha, now);
    note_trip(ha);
    if (ha->refused[0] && ha->refused_for == HA_REFUSED_FENCED)
        return; /* that comes first */
    if (say_what_keeps_it_out(ha) || (ha->has_joined && say_what_is_wrong(ha)))
        ha->refused_for = HA_REFUSED_STUCK;
    else
        ha_refused_no_more(ha, HA_REFUSED_STUCK);
}
