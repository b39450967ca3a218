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
    site_wake(&ha->site);
}

/* Long enough for the others to find out that theirs does not answer either, to say so and to
 * be read; and when it is back for all of them, for this one to find it as well. That a Redis
 * is silent takes a node T/4 to 3T/8 (node/app_options.c): with that it is 9T/8 at most. */
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
    site_wake_at(&ha->site, ha->store_looked_boot_ms + ha_t(ha) / 4);
    site_wake_at(&ha->site, *since_boot_ms + patience_ms);
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
                 site_is_connected(&ha->site) && has_another_its_redis(ha);

    if (!ha->options.shares)
        return;
    if (has_lasted(ha, &ha->shares_away_boot_ms, is_so, now)) {
        LOG_WARN("ha", "Redis answers other nodes and not this one: leaves its topics to them");
        s->is_cut_off = true;
    } else if (ha->store_up) {
        s->is_cut_off = false;
    }
}
