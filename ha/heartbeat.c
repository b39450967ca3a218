#include "ha/heartbeat.h"

#include "base/log.h"

static void on_beat(struct ask *ask)
{
    struct heartbeat *h = CONTAINER_OF(ask, struct heartbeat, ask);
    bool is_current = h->lead->is_mine && h->epoch == h->lead->token.epoch &&
                      ask->session == h->site->session;

    if (!ask_is_answered(ask) || !is_current)
        return;
    if (ask->call.status == COORD_OK) {
        write_lease_written(&h->site->lease, ask->sent_boot_ms, ask->acked_boot_ms);
        h->proven_epoch = h->epoch;
    } else if (ask->call.failed == 0) {
        LOG_WARN("ha", "epoch %lu is not the newest any more", (unsigned long)h->epoch);
        election_drop_lead(h->election);
    } else {
        membership_lost(h->membership);
    }
}

static void beat(struct heartbeat *h)
{
    site_path(h->site, h->path, "nodes", h->site->options->node);
    membership_print(h->membership, ++h->beats, &h->text);
    h->epoch = h->lead->token.epoch;
    h->changes[0] = (struct coord_change){.kind = COORD_CHECK,
                                          .path = h->election->view->items[VIEW_EPOCH].path,
                                          .version = h->lead->epoch_version};
    h->changes[1] = (struct coord_change){
        .kind = COORD_SET, .path = h->path, .data = buf_bytes(&h->text), .version = -1};
    ask_write(&h->ask, h->changes, 2);
}

/* Writes are sent one at a time: the lease counts on it. A new lead is proven at once. */
void heartbeat_tick(struct heartbeat *h, int64_t now)
{
    const struct lead *l = h->lead;
    bool is_new = l->is_mine && h->epoch != l->token.epoch;
    int64_t next = h->sent_boot_ms + (l->is_mine ? write_lease_beat_ms(&h->site->lease, now)
                                                 : site_session_ms(h->site) / 6);

    if (!site_is_connected(h->site) || h->ask.is_in_flight || h->election->giving.is_in_flight)
        return;
    if (now < next && !is_new) {
        site_wake_at(h->site, next);
        return;
    }
    h->sent_boot_ms = now;
    if (l->is_mine)
        beat(h);
    else
        view_refresh(h->election->view, VIEW_LEADER);
    site_wake_at(h->site, now + site_session_ms(h->site) / 12);
}

void heartbeat_init(struct heartbeat *h, struct site *s, struct election *e,
                    struct membership *m)
{
    *h = (struct heartbeat){.site = s, .election = e, .membership = m, .lead = e->lead};
    ask_init(&h->ask, s, on_beat);
}

void heartbeat_fini(struct heartbeat *h)
{
    buf_fini(&h->text);
}
