/* The tick, which makes decisions of facts. Everything else in this file stores a fact and asks
 * for a tick. */
#include "ha/ha.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/state.h"

#define HA_GIVING_MAX_MS 1000 /* a node that stops waits so long for the give-away's answer */

int64_t ha_t(const struct ha *ha)
{
    return ha->options.session_ms;
}

uint64_t ha_fence(const struct ha *ha, const char *ensemble)
{
    return strcmp(ha->fence.ensemble, ensemble) ? 0 : ha->fence.epoch;
}

int64_t ha_until(const struct ha *ha)
{
    int64_t by_write = write_lease_until(&ha->context.lease);
    int64_t by_promise = failsafe_until(&ha->failsafe);

    return by_write > by_promise ? by_write : by_promise;
}

static bool has_lease(const struct ha *ha)
{
    return ha->lead.is_mine && !ha->lead.is_doubtful && !ha->is_fenced &&
           context_now(&ha->context) < ha_until(ha);
}

bool ha_may_act(const struct ha *ha)
{
    return ha->role.state == ROLE_LEADER && has_lease(ha);
}

bool ha_may_hold(const struct ha *ha)
{
    return (ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING) && has_lease(ha);
}

static void on_role(struct role *role, enum role_state before)
{
    struct ha *ha = CONTAINER_OF(role, struct ha, role);

    ha->options.on_role(ha->options.arg, role, before);
}

/* A node that stood still has done nothing since its last tick; ticks are T/6 apart at most. */
static int64_t acted_until(const struct ha *ha, int64_t now)
{
    return now - ha->ticked_boot_ms > ha_t(ha) / 4 ? ha->ticked_boot_ms : now;
}

void ha_enter(struct ha *ha, enum role_state to, enum role_reason why)
{
    int64_t now = context_now(&ha->context);

    if (ha->role.state == ROLE_LEADER || ha->role.state == ROLE_DRAINING)
        ha->leader_seen_boot_ms = acted_until(ha, now);
    ha->is_drained = false;
    ha->able_since_boot_ms = 0;
    if (to != ROLE_LEADER && to != ROLE_DRAINING)
        failsafe_end(&ha->failsafe);
    if (to == ROLE_LEADER) {
        ha->lead.is_taken_up = true;
        ha->role.token = ha->lead.token;
        ha_history_note_lead(ha, why, now);
    }
    context_wake(&ha->context);
    role_enter(&ha->role, to, why, now);
}

/* ---- the tick ---- */

static void role_tick(struct ha *ha, int64_t now)
{
    switch (ha->role.state) {
    case ROLE_OFFLINE:
        ha_offline_tick(ha, now);
        break;
    case ROLE_STANDBY:
        ha_standby_tick(ha, now);
        break;
    case ROLE_LEADER:
        ha_leader_tick(ha, now);
        break;
    case ROLE_DRAINING:
        ha_draining_tick(ha, now);
        break;
    case ROLE_COUNT:
        break;
    }
}

/* Says good-bye when the lead is gone, and calls back when no call is in flight. */
static void stop_tick(struct ha *ha)
{
    if (ha->stop < STOP_LEADING || ha->role.state != ROLE_OFFLINE)
        return;
    if (ha->stop < STOP_DONE) {
        ha->stop = STOP_DONE;
        peers_leave(ha->peers);
        coordinator_close(ha->context.coordinator);
    }
    ha_commands_end(ha); /* commands may come until the ports are closed */
    if (ha->context.in_flight > 0 || !ha->on_stopped)
        return;
    void (*on_stopped)(void *) = ha->on_stopped;

    timer_disarm(ha->context.timers, &ha->context.tick);
    ha->on_stopped = NULL;
    on_stopped(ha->on_stopped_arg);
}

/* First the others learn that this node scans no more; the time for that is not taken from the
 * give-away's. */
static void leave_tick(struct ha *ha, int64_t now)
{
    int64_t giving_ms = ha_t(ha) / 4 < HA_GIVING_MAX_MS ? ha_t(ha) / 4 : HA_GIVING_MAX_MS;

    if (ha->stop != STOP_SCANNING)
        return;
    if (scanners_has_left(&ha->scanners, now))
        ha->stop = STOP_LEADING;
    if (ha->stop == STOP_LEADING)
        ha->stop_by_boot_ms = now + ROLE_DRAINING_MAX_MS + giving_ms;
    else
        context_wake_at(&ha->context, ha->scanners.leave_by_boot_ms);
}

static void on_tick(struct timer *timer)
{
    struct ha *ha = CONTAINER_OF(timer, struct ha, context.tick);
    int64_t now = context_now(&ha->context), wait;

    ha->context.wake_boot_ms = now + ha_t(ha) / 6;
    leave_tick(ha, now);
    election_tick(&ha->election, now);
    ha_step_down_tick(ha, now);
    if (ha->stop < STOP_DONE) {
        ha_session_tick(ha, now);
        membership_tick(&ha->membership, &ha->lead, now);
        ha_shares_tick(ha, now);
        scanners_tick(&ha->scanners, now);
        role_tick(ha, now);
        heartbeat_tick(&ha->heartbeat, now);
        ha_failsafe_tick(ha, now);
        ha_stuck_tick(ha, now);
        ha_commands_tick(ha, now);
        ha_request_tick(ha);
        ha_history_tick(ha, now);
        view_tick(&ha->view, now);
        ha_peers_tick(ha);
        scanners_report(&ha->scanners);
    }
    ha->ticked_boot_ms = now;
    if (!timer_is_armed(timer)) {
        wait = ha->context.wake_boot_ms - now;
        timer_arm(ha->context.timers, timer, wait > 0 ? wait : 1);
    }
    stop_tick(ha);
}

/* ---- facts from outside ---- */

void ha_store_is(struct ha *ha, bool is_up)
{
    bool is_news = is_up != ha->store_up;

    ha->store_up = ha->membership.store_up = is_up;
    ha->membership.is_store_known = true;
    context_wake(&ha->context);
    if (is_news)
        heartbeat_send_soon(&ha->heartbeat); /* the beat tells the others */
}

void ha_scans(struct ha *ha, bool is_scanning)
{
    ha->scanners.is_wanted = is_scanning;
    context_wake(&ha->context);
}

void ha_address_is(struct ha *ha, bool is_possible)
{
    bool is_news = is_possible == ha->membership.is_address_away;

    if (!is_news)
        return;
    ha->membership.is_address_away = !is_possible;
    ha->address_since_boot_ms = context_now(&ha->context);
    heartbeat_send_soon(&ha->heartbeat);
    context_wake(&ha->context);
}

void ha_drained(struct ha *ha)
{
    ha->is_drained = ha->role.state == ROLE_DRAINING;
    context_wake(&ha->context);
}

/* Is `seen` above this node's token? If not, a script of an older lead came late. */
static bool is_above_ones_own(const struct ha *ha, const struct token *seen)
{
    return !ha->lead.is_mine || strcmp(seen->ensemble, ha->lead.token.ensemble) != 0 ||
           seen->epoch > ha->lead.token.epoch;
}

void ha_fenced(struct ha *ha, const struct token *seen)
{
    if (!is_above_ones_own(ha, seen))
        return;
    ha->is_fenced = true;
    ha->fenced_by = *seen;
    ha->fenced_count++;
    context_wake(&ha->context);
}

static void on_change(struct coordinator *c, const char *path)
{
    struct ha *ha = c->user;

    view_changed(&ha->view, path);
    scanners_changed(&ha->scanners, path);
    context_wake(&ha->context);
}

static void on_promise(struct peers *p, const char *name, uint64_t seq)
{
    struct ha *ha = p->user;

    failsafe_promised(&ha->failsafe, name, seq);
    context_wake(&ha->context);
}

/* ---- life ---- */

struct ha *ha_new(const struct ha_options *options, struct coordinator *coordinator,
                  struct peers *peers, struct timers *timers)
{
    struct ha *ha = must(calloc(1, sizeof(*ha)));

    ha->nodes_shown = must(calloc(VIEW_NODES_MAX + PEERS_MAX, sizeof(struct ha_node)));
    ha->options = *options;
    ha->peers = peers;
    ha->context =
        (struct context){.options = &ha->options, .coordinator = coordinator, .timers = timers};
    timer_init(&ha->context.tick, on_tick);
    view_init(&ha->view, &ha->context);
    membership_init(&ha->membership, &ha->context, &ha->view);
    scanners_init(&ha->scanners, &ha->context, &ha->membership);
    election_init(&ha->election, &ha->context, &ha->view, &ha->membership, &ha->lead);
    heartbeat_init(&ha->heartbeat, &ha->context, &ha->election, &ha->membership);
    ha_history_init(ha);
    role_init(&ha->role, on_role);
    list_init(&ha->commands);
    coordinator->on_session = ha_note_session;
    coordinator->on_change = on_change;
    coordinator->user = ha;
    peers->on_death = ha_note_death;
    peers->on_question = ha_answer_question;
    peers->on_promise = on_promise;
    peers->user = ha;
    return ha;
}

void ha_free(struct ha *ha)
{
    if (!ha)
        return;
    assert(ha->context.in_flight == 0 && list_is_empty(&ha->commands));
    timer_disarm(ha->context.timers, &ha->context.tick);
    membership_fini(&ha->membership);
    election_fini(&ha->election);
    heartbeat_fini(&ha->heartbeat);
    buf_fini(&ha->control_text);
    buf_fini(&ha->history_text);
    free(ha->nodes_shown);
    free(ha);
}

void ha_start(struct ha *ha)
{
    int64_t now = context_now(&ha->context);

    ha->role.since_boot_ms = now;
    ha->in_touch_boot_ms = now;
    ha->started_boot_ms = ha->ticked_boot_ms = now;
    coordinator_open(ha->context.coordinator);
    context_wake(&ha->context);
}

void ha_stop(struct ha *ha, void (*on_stopped)(void *arg), void *arg)
{
    if (ha->stop == STOP_NOT)
        ha->stop = STOP_SCANNING;
    scanners_leave(&ha->scanners, context_now(&ha->context));
    ha->stop_by_boot_ms = INT64_MAX;
    ha->on_stopped = on_stopped;
    ha->on_stopped_arg = arg;
    context_wake(&ha->context);
}
