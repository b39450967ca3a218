#include "ha/lead/election.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ha/rule/record.h"

static const enum view_item checked[] = {VIEW_EPOCH, VIEW_LEADER, VIEW_MEMBERS, VIEW_CONTROL};

static void read_all_again(struct election *e)
{
    for (unsigned i = 0; i < sizeof(checked) / sizeof(*checked); i++)
        view_refresh(e->view, checked[i]);
}

/* ---- the lead ---- */

void election_drop_lead(struct election *e)
{
    e->lead->is_mine = false;
    write_lease_void(&e->context->lease);
    read_all_again(e);
}

/* A leader deposed by force may still have a lease: its successor acts after the end of it.
 * `force` stays in `control` until a successor has waited. */
static void take_lead(struct election *e, uint64_t epoch, int32_t epoch_version, bool by_force)
{
    struct lead *l = e->lead;
    int64_t now = context_now(e->context);
    bool waits = by_force || e->view->control.is_forced;

    write_lease_void(&e->context->lease);
    *l = (struct lead){.is_mine = true,
                       .epoch_version = epoch_version,
                       .is_forced = by_force,
                       .done_request = e->done_request,
                       .from_boot_ms = now};
    snprintf(l->token.ensemble, sizeof(l->token.ensemble), "%s", e->view->ensemble);
    l->token.epoch = epoch;
    if (waits)
        l->from_boot_ms = now + write_lease_promise_ms(view_longest_session_ms(e->view));
}

/* The znode `leader`, as read, decides. */
void election_tick(struct election *e, int64_t now)
{
    struct view *v = e->view;
    bool is_owner = view_leader_is(v, e->context->coordinator->credentials.session);

    if (!view_is_fresh(v, VIEW_LEADER) || e->state == ELECTION_TRYING)
        return;
    if (e->state == ELECTION_UNSURE && (!is_owner || e->lead->is_mine))
        e->state = ELECTION_NONE;
    if (e->lead->is_mine && !is_owner) {
        election_drop_lead(e);
    } else if (!e->lead->is_mine && is_owner && view_is_fresh(v, VIEW_EPOCH) &&
               view_is_fresh(v, VIEW_CONTROL) && !e->giving.is_in_flight) {
        LOG_INFO("ha", "the leader's znode is this session's: epoch %" PRIu64, v->leader.epoch);
        take_lead(e, v->leader.epoch, v->items[VIEW_EPOCH].version,
                  e->state == ELECTION_UNSURE && e->by_force);
        e->state = ELECTION_NONE;
        /* A `leader` of another epoch than `epoch` says counts for nothing, and is deleted. */
        if (v->leader.epoch != v->epoch)
            election_give_away(e);
    }
}

/* ---- an attempt ---- */

/* After an answer that makes no sense the attempt is made again later; the log says so once. */
static void take_refusal(struct election *e, enum coord_status status)
{
    bool is_refused = status == COORD_ERROR || status == COORD_DENIED;

    if (is_refused) {
        LOG_AT(e->is_refused ? LEVEL_DEBUG : LEVEL_ERROR, "ha",
               "ZooKeeper refuses the election: %s", coord_status_word(status));
        e->retry_boot_ms = context_retry_boot_ms(e->context);
    }
    e->is_refused = is_refused;
}

static void on_answer(struct coord_request *request)
{
    struct election *e = CONTAINER_OF(request, struct election, request);

    e->state = ELECTION_NONE;
    read_all_again(e);
    if (request->session != e->context->session || request->call.status == COORD_UNAVAILABLE)
        return;
    if (request->call.status == COORD_OK) {
        take_lead(e, e->epoch, e->epoch_version + 1, e->by_force);
        write_lease_led(&e->context->lease, request->sent_boot_ms, request->acked_boot_ms);
    } else if (!coord_request_is_answered(request)) {
        e->state = ELECTION_UNSURE;
    } else {
        e->lost++;
        take_refusal(e, request->call.status);
    }
}

static void print_leader(struct election *e)
{
    const struct ha_options *o = e->context->options;

    buf_clear(&e->leader_text);
    record_add_number(&e->leader_text, "epoch", (int64_t)e->epoch);
    membership_print(e->membership, 0, &e->members_text);
    buf_add_bytes(&e->leader_text, buf_bytes(&e->members_text));
    LOG_DEBUG("ha", "%s campaigns with epoch %" PRIu64, o->node, e->epoch);
}

static struct coord_change *add(struct election *e, enum coord_change_kind kind,
                                enum view_item item)
{
    struct coord_change *c = &e->changes[e->change_count++];

    *c = (struct coord_change){.kind = kind,
                               .path = e->view->items[item].path,
                               .version = e->view->items[item].version};
    return c;
}

void election_try(struct election *e, uint64_t above, bool by_force)
{
    const struct ha_options *o = e->context->options;
    struct view *v = e->view;

    e->state = ELECTION_TRYING;
    e->by_force = by_force;
    e->epoch = (above > v->epoch ? above : v->epoch) + 1;
    e->epoch_version = v->items[VIEW_EPOCH].version;
    e->change_count = 0;
    e->done_request = control_has_request(&v->control, o->now_wall_ms(o->arg))
                          ? v->items[VIEW_CONTROL].version
                          : -1;
    buf_clear(&e->epoch_text);
    record_add_number(&e->epoch_text, "epoch", (int64_t)e->epoch);
    print_leader(e);

    add(e, COORD_SET, VIEW_EPOCH)->data = buf_bytes(&e->epoch_text);
    if (by_force && view_has_leader(v))
        add(e, COORD_DELETE, VIEW_LEADER);
    add(e, COORD_CREATE_EPHEMERAL, VIEW_LEADER)->data = buf_bytes(&e->leader_text);
    add(e, COORD_CHECK, VIEW_CONTROL);
    if (v->member_count == 0) {
        membership_propose(e->membership, view_longest_session_ms(v), &e->members_text);
        add(e, COORD_SET, VIEW_MEMBERS)->data = buf_bytes(&e->members_text);
    } else {
        add(e, COORD_CHECK, VIEW_MEMBERS);
    }
    coord_request_write(&e->request, e->changes, e->change_count);
}

/* ---- giving away ---- */

void election_lead_is_proven(struct election *e, uint64_t gives)
{
    if (gives == e->gives)
        e->lead->is_doubtful = false;
}

static void on_given(struct coord_request *request)
{
    struct election *e = CONTAINER_OF(request, struct election, giving);

    if (request->session != e->context->session)
        return;
    if (request->call.status == COORD_OK) {
        election_drop_lead(e);
        return;
    }
    e->is_giving_denied = request->call.status == COORD_DENIED;
    read_all_again(e); /* the tick will see whether the lead is still ours */
    if (request->call.status == COORD_ERROR || request->call.status == COORD_DENIED)
        e->retry_boot_ms = context_retry_boot_ms(e->context);
}

void election_give_away(struct election *e)
{
    /* After a give-away that failed, `leader` is read first: it may be another node's by now.
     */
    if (e->giving.is_in_flight || !e->lead->is_mine || !view_is_fresh(e->view, VIEW_LEADER))
        return;
    if (context_now(e->context) < e->retry_boot_ms) {
        context_wake_at(e->context, e->retry_boot_ms);
        return;
    }
    e->has_given_away = true;
    e->gives++;
    e->lead->is_doubtful = true;
    e->give[0] = (struct coord_change){.kind = COORD_CHECK,
                                       .path = e->view->items[VIEW_EPOCH].path,
                                       .version = e->lead->epoch_version};
    e->give[1] = (struct coord_change){
        .kind = COORD_DELETE, .path = e->view->items[VIEW_LEADER].path, .version = -1};
    coord_request_write(&e->giving, e->give, 2);
}

void election_begin(struct election *e)
{
    e->state = ELECTION_NONE;
    e->is_giving_denied = false;
    e->lead->is_mine = false;
    e->done_request = -1;
}

void election_init(struct election *e, struct context *c, struct view *v, struct membership *m,
                   struct lead *lead)
{
    *e = (struct election){.context = c, .view = v, .membership = m, .lead = lead};
    coord_request_init(&e->request, c, on_answer);
    coord_request_init(&e->giving, c, on_given);
}

void election_fini(struct election *e)
{
    buf_fini(&e->epoch_text);
    buf_fini(&e->leader_text);
    buf_fini(&e->members_text);
}
