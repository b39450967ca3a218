/* The last hundred changes of the lead, and for how long there was no leader. Whoever becomes
 * the leader puts its line into the znode `history`; until that is done it tries again. Whoever
 * gives the lead away says why before, there.
 *
 * A leader is seen while this node is connected and sees both its znode and its beats: what was
 * read last says nothing when ZooKeeper stands still, and a lease ends T/2 or so after the last
 * beat. Time without a leader is counted from when it was seen last; of one that fell silent,
 * which stood still most likely, from its newest beat; by itself, from its newest tick.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

#define FLAP_WINDOW_MS (10 * 60 * 1000)

static void on_written(struct ask *ask)
{
    struct ha *ha = CONTAINER_OF(ask, struct ha, history_ask);
    bool is_refused = ask->call.status == COORD_DENIED || ask->call.status == COORD_ERROR;

    if (is_refused && ha->history_retry_boot_ms == 0)
        LOG_WARN("ha", "ZooKeeper refuses to write %s (%s): the history has gaps",
                 ha->view.items[VIEW_HISTORY].path, coord_status_word(ask->call.status));
    ha->history_retry_boot_ms = is_refused ? site_now(&ha->site) + ha_t(ha) : 0;
    view_refresh(&ha->view, VIEW_HISTORY);
}

void ha_history_init(struct ha *ha)
{
    ask_init(&ha->history_ask, &ha->site, on_written);
    ha->last_failover_ms = -1;
}

/* What became of the leader that was seen last. A session that ends by the clock ends T after
 * the last beat at least. */
static void note_end(struct ha *ha)
{
    bool has_died = ha->dead_epoch == ha->beat_epoch ||
                    ha->gone_boot_ms - ha->beat_boot_ms < ha_t(ha) * 3 / 4;

    ha->ended_epoch = ha->gone_boot_ms ? ha->beat_epoch : 0;
    ha->ended_how = has_died ? "died" : "timed_out";
}

/* Of a leader that was seen, and is not any more. */
static int64_t alone_since(const struct ha *ha, int64_t now)
{
    bool was_silent = now >= ha->beat_boot_ms + ha_t(ha) / 2;

    if (ha->alone_since_boot_ms)
        return ha->alone_since_boot_ms;
    return was_silent && ha->beat_boot_ms < ha->leader_seen_boot_ms ? ha->beat_boot_ms
                                                                    : ha->leader_seen_boot_ms;
}

/* A lead taken up again is news where nobody led meanwhile: its lease was over. One that was
 * fenced tries again each few seconds, and is not told each time. */
static bool was_told(const struct ha *ha, bool is_again)
{
    return is_again && (ha->has_pending || ha->role.state != ROLE_OFFLINE);
}

void ha_history_note_lead(struct ha *ha, enum role_reason why, int64_t now)
{
    struct ha_transition *t = &ha->pending;
    bool is_again = ha->has_won_told && token_equal(&ha->won, &ha->lead.token);

    if (was_told(ha, is_again))
        return;
    if (why == ROLE_RESUMED_REASON && !is_again)
        why = ROLE_ELECTED_REASON; /* it was, and did not know */
    note_end(ha);
    ha->has_won_told = true;
    ha->won = ha->lead.token;
    *t = (struct ha_transition){.at_wall_ms = ha->options.now_wall_ms(ha->options.arg),
                                .epoch = ha->lead.token.epoch,
                                .without_leader_ms = -1};
    snprintf(t->node, sizeof(t->node), "%s", ha->options.node);
    snprintf(t->reason, sizeof(t->reason), "%s", role_reason_word(why));
    if (ha->has_seen_leader)
        t->without_leader_ms = ha->last_failover_ms = now - alone_since(ha, now);
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
    ask_write(&ha->history_ask, &ha->history_change, 1);
}

static bool may_write(const struct ha *ha)
{
    return !ha->history_ask.is_in_flight && view_is_fresh(&ha->view, VIEW_HISTORY) &&
           ha->view.items[VIEW_HISTORY].exists &&
           site_now(&ha->site) >= ha->history_retry_boot_ms;
}

/* Sent before the lead is given away, so it is there when a successor looks. Where it cannot be
 * written the successor does not know why, and nothing else is wrong. */
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

/* Of an election: what became of the leader before, as far as this node knows. */
static const char *why_elected(const struct ha *ha)
{
    const struct transitions *h = &ha->view.history;
    uint64_t before = transitions_before(h, ha->pending.epoch);

    if (ha->lead.done_wish >= 0)
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
    /* A clock that was once ahead has written of the future: that counts for little. */
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
                  now); /* it cannot be seen to beat */
}

static bool is_leader_seen(const struct ha *ha, int64_t now)
{
    return ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING ||
           (site_is_connected(&ha->site) && view_has_leader(&ha->view) && !ha->lead.is_mine &&
            now < ha->beat_boot_ms + ha_t(ha) / 2 && !ha_is_leader_fenced(ha));
}

static void note_leader(struct ha *ha, int64_t now)
{
    if (is_leader_seen(ha, now)) {
        if (ha->alone_since_boot_ms)
            ha->without_leader_ms += (uint64_t)(now - ha->alone_since_boot_ms);
        ha->has_seen_leader = true;
        ha->leader_seen_boot_ms = now;
        ha->alone_since_boot_ms = 0;
    } else if (!ha->alone_since_boot_ms) {
        if (ha->has_seen_leader)
            ha->alone_since_boot_ms = alone_since(ha, now);
        else if (view_is_fresh(&ha->view, VIEW_LEADER) || now >= ha->started_boot_ms + ha_t(ha))
            ha->alone_since_boot_ms = now;
    }
}

void ha_history_tick(struct ha *ha, int64_t now)
{
    if (site_is_connected(&ha->site))
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
