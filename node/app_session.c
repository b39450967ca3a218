#include "node/app_private.h"

#include "node/warden_channel.h"

void app_tell_session(struct app *a)
{
    struct coord_credentials session = ha_app_session(a->ha);

    if (session.session == a->told_session ||
        !channel_send_session(a->options->channel_fd, &session))
        return;
    a->told_session = session.session;
}
