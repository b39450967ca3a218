#include "ha/lead/heartbeat.h"

#include <inttypes.h>

#include "base/log.h"

static void refused(struct heartbeat *h)
{
    enum coord_status status = h->request.call.status;

    if ((status != COORD_BAD_VERSION && status != COORD_NO_NODE) || h->is_nameless)
        return; /* the answer says nothing about the znodes; the lease ends by itself */
    if (h->epoch && h->request.call.failed < h->request.call.change_count - 1) {
        LOG_WARN("ha", "the lead of epoch %" PRIu64 " has gone", h->epoch);
        election_drop_lead(h->election);
    } else {
        membership_lost(h->membership);
    }
}

static void note_rtt(struct heartbeat *h)
{
    int64_t ms = h->request.acked_boot_ms - h->request.sent_boot_ms;

    h->rtts_ms[h->next_rtt] = ms > 0 ? ms : 1;
    h->next_rtt = (h->next_rtt + 1) % HEARTBEAT_RTTS;
}

static void on_beat(struct coord_request *request)
{
    struct heartbeat *h = CONTAINER_OF(request, struct heartbeat, request);
    struct write_lease *lease = &h->context->lease;
    bool leads = h->lead->is_mine && h->epoch == h->lead->token.epoch;

    h->acked_boot_ms = request->acked_boot_ms;
    if (!coord_request_is_answered(request))
        return;
    note_rtt(h);
    if (!h->is_nameless)
        h->membership->is_denied = request->call.status == COORD_DENIED;
    if (h->epoch && !leads)
        return;
    if (request->call.status != COORD_OK) {
        refused(h);
    } else if (h->epoch) {
        write_lease_led(lease, request->sent_boot_ms, request->acked_boot_ms);
        election_lead_is_proven(h->election, h->gives);
    } else {
        write_lease_written(lease, request->sent_boot_ms, request->acked_boot_ms);
    }
}

static void beat(struct heartbeat *h, int64_t now)
{
    const struct view_znode *items = h->election->view->items;
    const struct coord_change epoch = {
        .kind = COORD_CHECK, .path = items[VIEW_EPOCH].path, .version = h->lead->epoch_version};
    const struct coord_change leader = {
        .kind = COORD_CHECK, .path = items[VIEW_LEADER].path, .version = -1};
    const struct coord_change set = {.kind = COORD_SET, .path = h->path, .version = -1};
    const struct coord_change parent = {
        .kind = COORD_CHECK, .path = h->election->view->list.path, .version = -1};
    unsigned count = 0;

    context_path(h->context, h->path, "nodes", h->context->options->node);
    membership_print(h->membership, ++h->beats, &h->text);
    h->epoch = h->lead->is_mine ? h->lead->token.epoch : 0;
    h->is_nameless = !h->membership->is_registered;
    h->is_urgent = false;
    h->gives = h->election->gives;
    if (h->lead->is_mine) {
        h->changes[count++] = epoch;
        h->changes[count++] = leader;
    }
    h->changes[count] = h->is_nameless ? parent : set;
    h->changes[count++].data = buf_bytes(&h->text);
    h->sent_boot_ms = now;
    coord_request_write(&h->request, h->changes, count);
}

/* A node without its name beats while it waits for it, but not as the leader. */
static bool may_beat(const struct heartbeat *h)
{
    const struct membership *m = h->membership;

    return m->is_registered || (membership_waits_for_name(m) && !h->lead->is_mine);
}

void heartbeat_tick(struct heartbeat *h, int64_t now)
{
    int64_t next, soonest = h->sent_boot_ms + context_session_ms(h->context) / 24;

    if (!context_is_connected(h->context) || !may_beat(h) || h->request.is_in_flight ||
        h->election->state == ELECTION_TRYING)
        return;
    next = write_lease_next_beat_ms(&h->context->lease, h->sent_boot_ms, h->acked_boot_ms);
    if (h->is_urgent && soonest < next)
        next = soonest;
    if (now >= next) {
        beat(h, now);
        view_read_in_turn(h->election->view);
    } else {
        context_wake_at(h->context, next);
    }
}

void heartbeat_send_soon(struct heartbeat *h)
{
    h->is_urgent = true;
    context_wake(h->context);
}

int64_t heartbeat_rtt_ms(const struct heartbeat *h)
{
    int64_t least = h->rtts_ms[0];

    for (unsigned i = 1; i < HEARTBEAT_RTTS; i++) {
        if (h->rtts_ms[i] < least)
            least = h->rtts_ms[i];
    }
    return least;
}

bool heartbeat_is_late(const struct heartbeat *h, int64_t now)
{
    int64_t usual_ms = heartbeat_rtt_ms(h);

    return h->request.is_in_flight &&
           now >= h->sent_boot_ms + usual_ms + context_session_ms(h->context) / 12;
}

void heartbeat_init(struct heartbeat *h, struct context *c, struct election *e,
                    struct membership *m)
{
    *h = (struct heartbeat){.context = c, .election = e, .membership = m, .lead = e->lead};
    coord_request_init(&h->request, c, on_beat);
}

void heartbeat_fini(struct heartbeat *h)
{
    buf_fini(&h->text);
}
