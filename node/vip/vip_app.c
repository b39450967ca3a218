#include "node/vip/vip_app.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "node/vip/clients.h"
#include "node/vip/mover.h"

#define STOP_LOOK_MS 5
#define STOP_MAX_MS  (VIP_LEAVING_MAX_MS + VIP_LAST_REPLIES_MS + STOP_LOOK_MS)

struct vip_app {
    struct vip_app_options options;
    struct vip_addresses addresses;
    struct vip_clients clients;
    struct vip_mover *mover; /* NULL: there is no virtual address */
    bool is_draining;
    bool is_expected; /* while it stops: somebody who takes it */
    struct timer stopping;
    int64_t stop_by_mono_ms;
    bool is_finishing; /* it has stopped */
    void (*on_gone)(void *arg);
    void *gone_arg;
};

static struct timers *timers_of(const struct vip_app *v)
{
    return &v->options.loop->timers;
}

/* ---- by the lead ---- */

static bool is_in_order(const struct role *role)
{
    return role->reason == ROLE_HANDED_OVER_REASON || role->reason == ROLE_STOPPING_REASON;
}

void vip_app_role(struct vip_app *v, const struct role *role)
{
    bool was_draining = v->is_draining;
    char token[TOKEN_TEXT_LEN + 1];

    if (!v->mover)
        return;
    v->is_draining = role->state == ROLE_DRAINING;
    token_print(&role->token, token);
    if (role->state == ROLE_LEADER)
        v->mover->ops->take(v->mover, token);
    else if (role->state == ROLE_DRAINING)
        v->mover->ops->give(v->mover);
    else if (was_draining && is_in_order(role))
        v->mover->ops->given(v->mover);
    else if (!is_in_order(role))
        v->mover->ops->drop(v->mover);
}

/* ---- stopping ---- */

static bool is_waited_for(const struct vip_app *v)
{
    if (!v->mover || v->mover->ops->is_gone(v->mover))
        return false;
    return v->is_expected || vip_clients_are_owed(&v->clients);
}

static void on_stopping(struct timer *timer)
{
    struct vip_app *v = CONTAINER_OF(timer, struct vip_app, stopping);
    bool is_late = timers_now(timers_of(v)) >= v->stop_by_mono_ms;

    if (!is_late && is_waited_for(v)) {
        timer_arm(timers_of(v), timer, STOP_LOOK_MS);
        return;
    }
    if (v->mover)
        v->mover->ops->drop(v->mover);
    if (v->is_finishing && is_waited_for(v))
        LOG_WARN("vip", "vip.hook has not ended: it is left to itself");
    v->on_gone(v->gone_arg);
}

void vip_app_stop(struct vip_app *v, bool is_expected, void (*on_gone)(void *arg), void *arg)
{
    v->on_gone = on_gone;
    v->gone_arg = arg;
    v->is_expected = is_expected;
    v->stop_by_mono_ms =
        timers_now(timers_of(v)) + (is_expected ? STOP_MAX_MS : VIP_LAST_REPLIES_MS);
    timer_arm(timers_of(v), &v->stopping, 0);
}

void vip_app_finish(struct vip_app *v, int64_t patience_ms, void (*on_done)(void *arg),
                    void *arg)
{
    v->on_gone = on_done;
    v->gone_arg = arg;
    v->is_expected = v->is_finishing = true;
    v->stop_by_mono_ms = timers_now(timers_of(v)) + patience_ms;
    timer_arm(timers_of(v), &v->stopping, 0);
}

/* ---- what is told ---- */

bool vip_app_read(struct vip_app *v, struct vip_status *status)
{
    if (!v->mover)
        return false;
    *status = (struct vip_status){.addresses = v->options.conf->vip.address,
                                  .state = "away",
                                  .interface = "",
                                  .why = "",
                                  .conflict = ""};
    v->mover->ops->read(v->mover, status);
    return true;
}

/* ---- life ---- */

struct vip_app *vip_app_new(const struct vip_app_options *options)
{
    struct vip_app *v = must(calloc(1, sizeof(*v)));
    const struct conf *conf = options->conf;

    v->options = *options;
    timer_init(&v->stopping, on_stopping);
    if (!*conf->vip.address)
        return v;
    if (vip_addresses_parse(&v->addresses, conf->vip.address) != STATUS_OK)
        abort(); /* it was checked when it was read */
    v->clients = (struct vip_clients){.addresses = &v->addresses, .timers = timers_of(v)};
    vip_clients_init(&v->clients);
    v->mover = *conf->vip.hook ? vip_mover_hook_new(&v->options, &v->clients)
                               : vip_mover_kernel_new(&v->options, &v->clients);
    return v;
}

void vip_app_free(struct vip_app *v)
{
    if (!v)
        return;
    timer_disarm(timers_of(v), &v->stopping);
    if (v->mover) {
        v->mover->ops->free(v->mover);
        vip_clients_fini(&v->clients);
    }
    free(v);
}

void vip_app_serve(struct vip_app *v, struct port *const *ports, unsigned count)
{
    if (v->mover)
        vip_clients_serve(&v->clients, ports, count);
}
