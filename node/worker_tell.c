#include "node/worker_private.h"

#include "base/log.h"
#include "node/channel.h"

void worker_tell_take(struct worker *w)
{
    if (w->take_group != w->told_take_group &&
        channel_send_program(w->options->channel_fd, w->take_group))
        w->told_take_group = w->take_group;
}

/* For a leader: the lease's end. A lead that is given away is told before it goes. */
void worker_tell_address(struct worker *w)
{
    const struct ha *ha = node_lead_ha(w->lead);
    int64_t until_boot_ms = ha && ha_may_act(ha) ? ha_until(ha) : 0;

    if (until_boot_ms == w->told_until_boot_ms ||
        !channel_send_address(w->options->channel_fd, until_boot_ms))
        return;
    w->told_until_boot_ms = until_boot_ms;
}

/* Needed for the address alone: without a successor the warden need not wait to hear one. */
void worker_tell_alone(struct worker *w)
{
    const struct ha *ha = node_lead_ha(w->lead);
    bool is_alone = ha && ha_may_act(ha) && !node_lead_has_successor(w->lead);

    if (is_alone == w->told_alone || !channel_send_alone(w->options->channel_fd, is_alone))
        return;
    w->told_alone = is_alone;
    LOG_INFO("app", is_alone ? "leads, and no other node would take over"
                             : "another node would take over, or leads");
}

void worker_tell_session(struct worker *w)
{
    struct coord_credentials session = node_lead_session(w->lead);

    if (session.session == w->told_session ||
        !channel_send_session(w->options->channel_fd, &session))
        return;
    w->told_session = session.session;
}
