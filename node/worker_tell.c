#include "node/worker_private.h"

#include "base/log.h"
#include "node/channel.h"

void worker_tell_take(struct worker *a)
{
    if (a->take_group != a->told_take_group &&
        channel_send_program(a->options->channel_fd, a->take_group))
        a->told_take_group = a->take_group;
}

/* A lead is told with its lease's end, a lead that is given away before it goes. */
void worker_tell_address(struct worker *a)
{
    const struct ha *ha = node_lead_ha(a->ha);
    int64_t until_boot_ms = ha && ha_may_act(ha) ? ha_until(ha) : 0;

    if (until_boot_ms == a->told_until_boot_ms ||
        !channel_send_address(a->options->channel_fd, until_boot_ms))
        return;
    a->told_until_boot_ms = until_boot_ms;
}

/* Of the address alone: without a successor nobody waits for one to be heard. */
void worker_tell_alone(struct worker *a)
{
    const struct ha *ha = node_lead_ha(a->ha);
    bool is_alone = ha && ha_may_act(ha) && !node_lead_has_successor(a->ha);

    if (is_alone == a->told_alone || !channel_send_alone(a->options->channel_fd, is_alone))
        return;
    a->told_alone = is_alone;
    LOG_INFO("app", is_alone ? "leads, and no other node would take over"
                             : "another node would take over, or leads");
}

void worker_tell_session(struct worker *a)
{
    struct coord_credentials session = node_lead_session(a->ha);

    if (session.session == a->told_session ||
        !channel_send_session(a->options->channel_fd, &session))
        return;
    a->told_session = session.session;
}
