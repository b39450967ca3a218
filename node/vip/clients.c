#include "node/vip/clients.h"

#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "protocol/conn/port.h"

#define LOOK_MS 1

static unsigned bit_of(const struct vip_clients *c, const struct vip_address *a)
{
    size_t i = 0;

    while (strcmp(c->addresses->at[i].text, a->text) != 0)
        i++;
    return 1u << i;
}

static unsigned count(const struct vip_clients *c)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < c->port_count; i++)
        sum += port_floating(c->ports[i]);
    return sum;
}

bool vip_clients_are_owed(const struct vip_clients *c)
{
    for (unsigned i = 0; i < c->port_count; i++)
        if (port_owes(c->ports[i]))
            return true;
    return false;
}

static void tell(struct vip_clients *c)
{
    for (unsigned i = 0; i < c->port_count; i++)
        port_follow(c->ports[i], &c->floating);
}

static void move(struct vip_clients *c, enum floating_state state)
{
    unsigned before = count(c);

    if (c->floating.state == state)
        return;
    c->floating.state = state;
    tell(c);
    if (before && state != FLOATING_HERE)
        LOG_INFO("vip", "%s %u clients", state == FLOATING_DRAINING ? "drains" : "cuts off",
                 before);
}

/* ---- going ---- */

static void remove_now(struct vip_clients *c, unsigned bits)
{
    unsigned before = c->here;

    if (!(before & ~bits))
        move(c, FLOATING_AWAY);
    for (size_t i = 0; i < c->addresses->count; i++)
        if (bits >> i & 1)
            c->ops->remove(c->ops_arg, &c->addresses->at[i]);
    c->here &= ~bits;
    c->going &= ~bits;
    if (!c->going)
        timer_disarm(c->timers, &c->last_replies);
    if (before && !c->here)
        c->on_here(c->arg, false);
}

static void on_last_replies(struct timer *timer)
{
    struct vip_clients *c = CONTAINER_OF(timer, struct vip_clients, last_replies);

    if (vip_clients_are_owed(c) && timers_now(c->timers) < c->until_mono_ms)
        timer_arm(c->timers, timer, LOOK_MS);
    else
        remove_now(c, c->going);
}

static void remove_it(void *arg, const struct vip_address *a)
{
    struct vip_clients *c = arg;
    unsigned bit = bit_of(c, a);

    if (!(c->here & bit) || c->floating.state != FLOATING_DRAINING ||
        !vip_clients_are_owed(c)) {
        remove_now(c, bit);
        return;
    }
    if (!c->going) {
        c->until_mono_ms = timers_now(c->timers) + VIP_LAST_REPLIES_MS;
        timer_arm(c->timers, &c->last_replies, LOOK_MS);
    }
    c->going |= bit;
}

/* ---- coming ---- */

static enum vip_put put(void *arg, const struct vip_address *a, const char **why)
{
    struct vip_clients *c = arg;
    enum vip_put done = c->ops->put(c->ops_arg, a, why);
    unsigned before = c->here;

    if (done == VIP_PUT_FAILED) {
        c->here &= ~bit_of(c, a);
        if (before && !c->here)
            c->on_here(c->arg, false);
        return done;
    }
    c->here |= bit_of(c, a);
    c->going &= ~bit_of(c, a);
    if (c->floating.state == FLOATING_AWAY) /* not while they are being drained */
        move(c, FLOATING_HERE);
    if (!before)
        c->on_here(c->arg, true);
    return done;
}

static void announce(void *arg, const struct vip_address *a)
{
    struct vip_clients *c = arg;

    c->ops->announce(c->ops_arg, a);
}

static void probe(void *arg, const struct vip_address *a)
{
    struct vip_clients *c = arg;

    c->ops->probe(c->ops_arg, a);
}

const struct vip_ops vip_clients_ops = {
    .put = put, .remove = remove_it, .announce = announce, .probe = probe};

/* ---- by the lead ---- */

void vip_clients_drain(struct vip_clients *c)
{
    move(c, FLOATING_DRAINING);
}

void vip_clients_welcome(struct vip_clients *c)
{
    move(c, FLOATING_HERE);
}

void vip_clients_cut_off(struct vip_clients *c)
{
    move(c, FLOATING_AWAY);
    if (c->going)
        remove_now(c, c->going);
}

/* ---- life ---- */

static bool is_it(void *arg, const struct sockaddr *own)
{
    const struct vip_clients *c = arg;

    return vip_addresses_have(c->addresses, own);
}

void vip_clients_init(struct vip_clients *c)
{
    c->floating = (struct floating){.is_it = is_it, .arg = c, .state = FLOATING_AWAY};
    timer_init(&c->last_replies, on_last_replies);
}

void vip_clients_fini(struct vip_clients *c)
{
    timer_disarm(c->timers, &c->last_replies);
}

void vip_clients_serve(struct vip_clients *c, struct port *const *ports, unsigned count)
{
    c->ports = ports;
    c->port_count = count;
    tell(c);
}
