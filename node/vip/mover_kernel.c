/* The address on an interface of this machine: ha/vip/vip.h, with the clients in between. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/vip/link.h"
#include "ha/vip/vip.h"
#include "ha/vip/net.h"
#include "node/capabilities.h"
#include "node/vip/mover.h"

struct kernel {
    struct vip_mover base;
    const struct vip_addresses *addresses;
    struct vip_net *net; /* NULL: there are no sockets, and `broken` says why */
    struct vip *vip;     /* the same */
    bool is_wanted;      /* this node leads */
    char broken[160];
    struct timer retry; /* then */

    /* Could the address be here? */
    struct vip_link *link;
    struct timer look;
    unsigned failures;     /* in a row */
    int64_t until_mono_ms; /* the failures are remembered; 0: none to remember */
    bool is_possible;
    char on[IF_NAMESIZE]; /* the interface of the first address; "": none */
    char why[320];        /* it could not be here; "": it could */
    char failed[320];     /* the last failure */
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
    vip_clients_drain(m->clients);
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

static void tell_possible(struct kernel *k, bool is_possible)
{
    const struct vip_app_options *options = k->base.options;

    options->on_possible(options->arg, is_possible);
}

/* ---- could it be here? ----
 *
 * While the address is elsewhere, the node looks once a second: is there an interface for it,
 * and no foreign address in its place? While this node holds it, repeated failures to put it
 * say more. They are remembered for a while where looking finds nothing wrong; else the node
 * would be elected again at once, and fail again. */

static const char *interface_of(const struct kernel *k)
{
    return k->base.options->conf->vip.interface;
}

static void say_why(struct kernel *k, const struct vip_address *a, const char *why)
{
    snprintf(k->why, sizeof(k->why), "%s: %s", a->text, why);
}

/* Says why not. */
static bool could_be_here(struct kernel *k, const struct vip_address *a)
{
    char name[IF_NAMESIZE], text[80];
    struct vip_interface on;
    const char *why;

    if (vip_link_find(k->link, a, interface_of(k), &on, &why) != STATUS_OK) {
        say_why(k, a, why);
        return false;
    }
    if (a == &k->addresses->at[0])
        memcpy(k->on, on.name, sizeof(k->on));
    if (vip_interface_fault(&on, a)) {
        snprintf(text, sizeof(text), "%s: %s", on.name, vip_interface_fault(&on, a));
        say_why(k, a, text);
        return false;
    }
    if (vip_link_presence(k->link, a, name) == VIP_IS_FOREIGN) {
        snprintf(text, sizeof(text), "somebody has configured it on this machine (%s)", name);
        say_why(k, a, text);
        return false;
    }
    return true;
}

static bool look_around(struct kernel *k)
{
    k->why[0] = k->on[0] = '\0';
    if (!k->link && !(k->link = vip_link_new())) {
        snprintf(k->why, sizeof(k->why), "no netlink socket: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < k->addresses->count; i++)
        if (!could_be_here(k, &k->addresses->at[i]))
            return false;
    return true;
}

/* A fault that looking finds replaces the remembered failures: looking will see its end, too.
 */
static bool is_possible_elsewhere(struct kernel *k)
{
    k->failures = 0;
    if (!look_around(k)) {
        k->until_mono_ms = 0;
        return false;
    }
    if (timers_now(vip_mover_timers(&k->base)) >= k->until_mono_ms)
        return true;
    memcpy(k->why, k->failed, sizeof(k->why));
    return false;
}

static bool is_possible_here(struct kernel *k, const char *why)
{
    if (!why)
        return k->is_possible;
    snprintf(k->why, sizeof(k->why), "%s", why);
    k->failures = k->why[0] ? k->failures + 1 : 0;
    if (k->failures < VIP_FAILURES_MAX) {
        k->until_mono_ms = 0;
        return true;
    }
    memcpy(k->failed, k->why, sizeof(k->failed));
    k->until_mono_ms =
        look_around(k) ? timers_now(vip_mover_timers(&k->base)) + VIP_REMEMBER_MS : 0;
    memcpy(k->why, k->failed, sizeof(k->why));
    return false;
}

/* A lease in doubt for a moment says nothing about this host. */
static bool judge(struct kernel *k)
{
    if (vip_state(k->vip) != VIP_HELD)
        return is_possible_elsewhere(k);
    return is_possible_here(k, may_hold(k) ? vip_why(k->vip) : NULL);
}

static void on_look(struct timer *timer)
{
    struct kernel *k = CONTAINER_OF(timer, struct kernel, look);
    bool before = k->is_possible, is_held = vip_state(k->vip) == VIP_HELD;

    k->is_possible = judge(k);
    timer_arm(vip_mover_timers(&k->base), timer, is_held ? VIP_RENEW_MS : VIP_LOOK_MS);
    if (k->is_possible == before)
        return;
    if (k->is_possible)
        LOG_INFO("vip", "this node could have the address again");
    else
        LOG_WARN("vip", "this node could not have the address: %s", k->why);
    tell_possible(k, k->is_possible);
}

/* ---- what is told of it ---- */

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
    to->is_possible = k->is_possible;
    to->is_here = m->clients->here == (1u << k->addresses->count) - 1;
    to->interface = is_away ? k->on : vip_net_interface(k->net, &k->addresses->at[0]);
    to->why = is_away ? k->why : vip_why(k->vip);
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
    timer_disarm(vip_mover_timers(m), &k->look);
    vip_link_free(k->link);
    vip_clients_cut_off(m->clients);
    vip_free(k->vip);
    vip_net_free(k->net);
    free(k);
}

static bool open_net(struct kernel *k)
{
    const struct vip_app_options *options = k->base.options;

    k->net = vip_net_new(options->loop, k->addresses, interface_of(k));
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
    k->is_possible = true;
    timer_arm(&options->loop->timers, &k->look, 0);
    return true;
}

/* Other nodes lead meanwhile, if they can. */
static void on_retry(struct timer *timer)
{
    struct kernel *k = CONTAINER_OF(timer, struct kernel, retry);

    if (!open_net(k)) {
        tell_possible(k, false);
        timer_arm(vip_mover_timers(&k->base), timer, RETRY_MS);
        return;
    }
    LOG_INFO("vip", "the virtual address can be taken now");
    tell_possible(k, true);
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
    struct kernel *k = must(calloc(1, sizeof(*k)));

    k->base = (struct vip_mover){.ops = &ops, .options = options, .clients = clients};
    k->addresses = clients->addresses;
    clients->on_here = on_here;
    clients->arg = &k->base;
    timer_init(&k->retry, on_retry);
    timer_init(&k->look, on_look);
    if (!open_net(k))
        timer_arm(&options->loop->timers, &k->retry, 0); /* tells it, too */
    return &k->base;
}
