/* The address on an interface of this machine: ha/vip/vip.h, with the clients in between. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/vip/vip.h"
#include "ha/vip/net.h"
#include "node/capabilities.h"
#include "node/vip/look.h"
#include "node/vip/mover.h"

struct kernel {
    struct vip_mover base;
    const struct vip_addresses *addresses;
    struct vip_net *net; /* NULL: there are no sockets, and `broken` says why */
    struct vip *vip;     /* the same */
    struct vip_look look;
    bool is_wanted; /* this node leads */
    char broken[160];
    struct timer retry; /* then */
};

#define RETRY_MS 1000

static struct kernel *kernel_of(const struct vip_mover *m)
{
    return CONTAINER_OF(m, struct kernel, base);
}

/* ---- by the lead ---- */

static void take(struct vip_mover *m, const char *token)
{
    kernel_of(m)->is_wanted = true;
    if (m->clients->floating.state == FLOATING_DRAINING)
        vip_clients_welcome(m->clients);
    if (kernel_of(m)->vip)
        vip_take(kernel_of(m)->vip);
}

static void give(struct vip_mover *m)
{
    kernel_of(m)->is_wanted = false;
    vip_clients_let_go(m->clients);
    if (kernel_of(m)->vip)
        vip_hand_over(kernel_of(m)->vip);
}

/* Nothing to do: the successor will be heard, and without the lease the address is not renewed.
 */
static void given(struct vip_mover *m)
{
}

static void drop(struct vip_mover *m)
{
    kernel_of(m)->is_wanted = false;
    vip_clients_cut_off(m->clients);
    if (kernel_of(m)->vip)
        vip_drop(kernel_of(m)->vip);
}

static bool is_gone(const struct vip_mover *m)
{
    const struct kernel *k = kernel_of(m);

    return !m->clients->here && (!k->vip || vip_state(k->vip) == VIP_AWAY);
}

/* ---- what the others ask and say ---- */

static bool may_hold(void *arg)
{
    const struct vip_app_options *options = ((struct kernel *)arg)->base.options;

    return options->may_hold(options->arg);
}

static void on_here(void *arg, bool is_here)
{
    vip_mover_say(arg, is_here ? "held" : "away");
}

/* AWAY without having been here: there is no wait for a successor. */
static void on_state(void *arg, enum vip_state state)
{
    struct vip_mover *m = arg;

    if (state == VIP_LEAVING)
        vip_mover_say(m, "leaving");
    else if (state == VIP_AWAY && !m->clients->here)
        vip_clients_cut_off(m->clients);
}

/* A lease in doubt for a moment says nothing about this host. */
static bool is_held(void *arg, const char **why)
{
    struct kernel *k = arg;

    *why = may_hold(k) ? vip_why(k->vip) : NULL;
    return vip_state(k->vip) == VIP_HELD;
}

static void on_possible(void *arg, bool is_possible)
{
    const struct vip_app_options *options = ((struct kernel *)arg)->base.options;

    options->on_possible(options->arg, is_possible);
}

static void read_state(struct vip_mover *m, struct vip_status *to)
{
    struct kernel *k = kernel_of(m);
    const struct vip_stats *stats;
    bool is_away;

    if (!k->vip) {
        to->state = vip_state_word(k->is_wanted ? VIP_HELD : VIP_AWAY);
        to->why = k->broken;
        return;
    }
    stats = vip_stats(k->vip);
    is_away = vip_state(k->vip) == VIP_AWAY;
    to->state = vip_state_word(vip_state(k->vip));
    to->is_possible = k->look.is_possible;
    to->is_here = m->clients->here == (1u << k->addresses->count) - 1;
    to->interface = is_away ? k->look.on : vip_net_interface(k->net, &k->addresses->at[0]);
    to->why = is_away ? k->look.why : vip_why(k->vip);
    to->conflict = vip_conflict(k->vip);
    to->taken = stats->taken;
    to->restored = stats->restored;
    to->announcements = stats->announcements;
    to->conflicts = stats->conflicts;
    to->failures = stats->failures;
}

/* ---- life ---- */

static void free_kernel(struct vip_mover *m)
{
    struct kernel *k = kernel_of(m);

    timer_disarm(vip_mover_timers(m), &k->retry);
    if (k->vip)
        vip_look_fini(&k->look);
    vip_clients_cut_off(m->clients);
    vip_free(k->vip);
    vip_net_free(k->net);
    free(k);
}

static bool open_net(struct kernel *k)
{
    const struct vip_app_options *options = k->base.options;
    const char *interface = options->conf->vip.interface;

    k->net = vip_net_new(options->loop, k->addresses, interface);
    if (!k->net) {
        if (!k->broken[0])
            LOG_ERROR("vip",
                      "the virtual address cannot be taken: no netlink or packet socket: "
                      "%s; it is tried again",
                      strerror(errno));
        snprintf(k->broken, sizeof(k->broken), "no netlink or packet socket: %s",
                 strerror(errno));
        return false;
    }
    capabilities_give_up_net_raw();
    k->base.clients->ops = &vip_net_ops;
    k->base.clients->ops_arg = k->net;
    k->vip = vip_new(&(struct vip_options){.addresses = *k->addresses,
                                           .ops = &vip_clients_ops,
                                           .ops_arg = k->base.clients,
                                           .timers = &options->loop->timers,
                                           .may_hold = may_hold,
                                           .on_state = on_state,
                                           .arg = k});
    vip_net_listen(k->net, k->vip);
    k->look = (struct vip_look){.addresses = k->addresses,
                                .interface = interface,
                                .timers = &options->loop->timers,
                                .is_held = is_held,
                                .on_possible = on_possible,
                                .arg = k};
    vip_look_init(&k->look);
    return true;
}

/* Other nodes lead meanwhile, if they can. */
static void on_retry(struct timer *timer)
{
    struct kernel *k = CONTAINER_OF(timer, struct kernel, retry);

    if (!open_net(k)) {
        on_possible(k, false);
        timer_arm(vip_mover_timers(&k->base), timer, RETRY_MS);
        return;
    }
    LOG_INFO("vip", "the virtual address can be taken now");
    on_possible(k, true);
    if (k->is_wanted)
        vip_take(k->vip);
}

struct vip_mover *vip_mover_kernel_new(const struct vip_app_options *options,
                                       struct vip_clients *clients)
{
    static const struct vip_mover_ops ops = {.take = take,
                                             .give = give,
                                             .given = given,
                                             .drop = drop,
                                             .is_gone = is_gone,
                                             .read = read_state,
                                             .free = free_kernel};
    struct kernel *k = calloc(1, sizeof(*k));

    if (!k)
        abort();
    k->base = (struct vip_mover){.ops = &ops, .options = options, .clients = clients};
    k->addresses = clients->addresses;
    clients->on_here = on_here;
    clients->arg = &k->base;
    timer_init(&k->retry, on_retry);
    if (!open_net(k))
        timer_arm(&options->loop->timers, &k->retry, 0); /* tells it, too */
    return &k->base;
}
