/* The last hundred changes of the lead, and for how long there was no leader. Whoever becomes
 * the leader puts its line into the znode `history`; until that is done it tries again.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ha/ha_state.h"

#define FLAP_WINDOW_MS (10 * 60 * 1000)

static void on_written(struct ask *ask)
{
    struct ha *ha = CONTAINER_OF(ask, struct ha, history_ask);

    view_refresh(&ha->view, VIEW_HISTORY);
}

void ha_history_init(struct ha *ha)
{
    ask_init(&ha->history_ask, &ha->site, on_written);
    ha->last_failover_ms = -1;
}

/* A lead taken up again is no change. */
void ha_history_note_lead(struct ha *ha, enum role_reason why, int64_t now)
{
    struct ha_transition *t = &ha->pending;

    if (ha->has_won_told && token_equal(&ha->won, &ha->lead.token))
        return;
    ha->has_won_told = true;
    ha->won = ha->lead.token;
    *t = (struct ha_transition){.at_wall_ms = ha->options.now_wall_ms(ha->options.arg),
                                .epoch = ha->lead.token.epoch,
                                .without_leader_ms = -1};
    snprintf(t->node, sizeof(t->node), "%s", ha->options.node);
    snprintf(t->reason, sizeof(t->reason), "%s", role_reason_word(why));
    if (ha->has_seen_leader)
        t->without_leader_ms = ha->last_failover_ms = now - ha->leader_seen_boot_ms;
    ha->has_pending = true;
}

static void write_history(struct ha *ha)
{
    struct transitions all = ha->view.history;

    transitions_add(&all, &ha->pending);
    buf_clear(&ha->history_text);
    transitions_print(&all, &ha->history_text);
    ha->history_change = (struct coord_change){.kind = COORD_SET,
                                               .path = ha->view.items[VIEW_HISTORY].path,
                                               .data = buf_bytes(&ha->history_text),
                                               .version = ha->view.items[VIEW_HISTORY].version};
    ask_write(&ha->history_ask, &ha->history_change, 1);
}

static void note_flapping(struct ha *ha)
{
    int64_t wall = ha->options.now_wall_ms(ha->options.arg);
    /* A clock that was once ahead has written of the future: that counts for little. */
    unsigned changes =
        transitions_between(&ha->view.history, wall - FLAP_WINDOW_MS, wall + FLAP_WINDOW_MS);
    bool is_flapping = ha->options.flap_max > 0 && changes > ha->options.flap_max;

    if (is_flapping && !ha->is_flapping)
        LOG_WARN("ha", "the lead has changed %u times in ten minutes", changes);
    ha->is_flapping = is_flapping;
}

static bool is_there_a_leader(const struct ha *ha)
{
    return ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING ||
           (view_has_leader(&ha->view) && !ha->lead.is_mine);
}

/* What is not known counts neither way. */
static void note_leader(struct ha *ha, int64_t now)
{
    bool is_there = is_there_a_leader(ha);

    if (!is_there && !view_is_fresh(&ha->view, VIEW_LEADER))
        return;
    if (is_there && ha->alone_since_boot_ms)
        ha->without_leader_ms += (uint64_t)(now - ha->alone_since_boot_ms);
    if (is_there) {
        ha->has_seen_leader = true;
        ha->leader_seen_boot_ms = now;
        ha->alone_since_boot_ms = 0;
    } else if (!ha->alone_since_boot_ms) {
        ha->alone_since_boot_ms = now;
    }
}

void ha_history_tick(struct ha *ha, int64_t now)
{
    note_leader(ha, now);
    note_flapping(ha);
    if (!ha->has_pending || ha->history_ask.is_in_flight ||
        !view_is_fresh(&ha->view, VIEW_HISTORY) || !ha->view.items[VIEW_HISTORY].exists)
        return;
    if (transitions_has(&ha->view.history, ha->pending.epoch))
        ha->has_pending = false;
    else
        write_history(ha);
}
