#include "node/app_private.h"

static bool may_hold(void *arg)
{
    struct app *a = arg;

    return ha_app_ha(a->ha) && ha_may_hold(ha_app_ha(a->ha));
}

static void on_state(void *arg, const char *state)
{
    struct app *a = arg;

    ha_app_note_address(a->ha, state);
}

static void on_possible(void *arg, bool is_possible)
{
    struct app *a = arg;

    ha_app_address_is(a->ha, is_possible);
}

static void on_take(void *arg, pid_t group)
{
    struct app *a = arg;

    a->take_group = group;
    app_tell_take(a);
}

struct vip_app *app_open_vip(struct app *a)
{
    const struct vip_app_options options = {.conf = a->conf,
                                            .loop = a->loop,
                                            .may_hold = may_hold,
                                            .on_state = on_state,
                                            .on_possible = on_possible,
                                            .on_take = on_take,
                                            .arg = a};

    return vip_app_new(&options);
}
