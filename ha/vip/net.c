#include "ha/vip/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/vip/packet.h"
#include "ha/vip/link.h"

#define FRESH_MS 50 /* how long a first announcement may wait */

/* One address and its interface. */
struct binding {
    struct vip_net *net;
    const struct vip_address *address;
    struct vip_interface on; /* the last interface; index 0: none */
    bool is_found;           /* since it was put */
    struct vip_arp_nd *arp_nd;
    struct timer fresh; /* the first announcement waits until the address is usable */
    int64_t added_mono_ms;
};

struct vip_net {
    struct loop *loop;
    struct vip_addresses addresses;
    const char *interface;
    struct vip_link *link;
    struct binding bindings[VIP_ADDRESSES_MAX];
    struct vip *vip; /* NULL: nobody listens */
    char why[256];
};

static struct binding *binding_of(const struct vip_net *n, const struct vip_address *a)
{
    size_t i = 0;

    while (n->addresses.at[i].family != a->family ||
           memcmp(n->addresses.at[i].bytes, a->bytes, vip_address_len(a)) != 0)
        i++;
    return (struct binding *)&n->bindings[i];
}

/* ---- where it belongs ---- */

/* Is the interface of the address still the same, and fit? */
static bool is_still_there(struct vip_net *n, const struct binding *p)
{
    struct vip_interface now;
    const char *why;

    return p->is_found && vip_link_look(n->link, p->on.index, &now, &why) == STATUS_OK &&
           !vip_interface_fault(&now, p->address) && !strcmp(now.name, p->on.name) &&
           !memcmp(now.mac, p->on.mac, sizeof(now.mac));
}

static enum status refuse(struct vip_net *n, const char **why, const char *on,
                          const char *sentence)
{
    snprintf(n->why, sizeof(n->why), "%s%s%s", on, *on ? ": " : "", sentence);
    *why = n->why;
    return STATUS_IO_ERROR;
}

static enum status find(struct vip_net *n, const struct vip_address *a, struct binding *p,
                        const char **why)
{
    struct vip_interface found;

    if (p->is_found)
        vip_link_remove(n->link, a); /* so it is put and announced as a new address */
    p->is_found = false;
    p->on = (struct vip_interface){.index = 0};
    if (vip_link_find(n->link, a, n->interface, &found, why) != STATUS_OK)
        return refuse(n, why, "", *why);
    if (vip_interface_fault(&found, a))
        return refuse(n, why, found.name, vip_interface_fault(&found, a));
    if (vip_arp_nd_bind(p->arp_nd, &found) != STATUS_OK)
        return refuse(n, why, found.name, strerror(errno));
    p->on = found;
    p->is_found = true;
    LOG_INFO("vip", "%s belongs on %s", a->text, found.name);
    return STATUS_OK;
}

/* ---- the operations ---- */

static enum vip_put put(void *arg, const struct vip_address *a, const char **why)
{
    struct vip_net *n = arg;
    struct binding *p = binding_of(n, a);
    enum vip_put done;

    if (!is_still_there(n, p) && find(n, a, p, why) != STATUS_OK)
        return VIP_PUT_FAILED;
    done = vip_link_put(n->link, a, p->on.index, why);
    if (done == VIP_PUT_FAILED)
        refuse(n, why, p->on.name, *why);
    if (done == VIP_PUT_ADDED)
        p->added_mono_ms = timers_now(&n->loop->timers);
    return done;
}

static void remove_it(void *arg, const struct vip_address *a)
{
    struct vip_net *n = arg;
    struct binding *p = binding_of(n, a);

    vip_link_remove(n->link, a);
    timer_disarm(&n->loop->timers, &p->fresh);
    p->is_found = false;
}

/* After the announcement the leader before removes the address: it must be usable here by then.
 */
static bool is_too_early(struct binding *p)
{
    return p->address->family == AF_INET6 &&
           timers_now(&p->net->loop->timers) - p->added_mono_ms < FRESH_MS &&
           !vip_link_is_usable(p->net->link, p->address);
}

static void announce(void *arg, const struct vip_address *a)
{
    struct vip_net *n = arg;
    struct binding *p = binding_of(n, a);

    if (is_too_early(p))
        timer_arm(&n->loop->timers, &p->fresh, 1);
    else
        vip_arp_nd_announce(p->arp_nd);
}

/* After a stall the next regular announcement has to do, which checks the lease first. */
static void on_fresh(struct timer *timer)
{
    struct binding *p = CONTAINER_OF(timer, struct binding, fresh);

    if (timers_now(&p->net->loop->timers) - p->added_mono_ms < FRESH_MS)
        announce(p->net, p->address);
}

static void probe(void *arg, const struct vip_address *a)
{
    vip_arp_nd_probe(binding_of(arg, a)->arp_nd);
}

const struct vip_ops vip_net_ops = {
    .put = put, .remove = remove_it, .announce = announce, .probe = probe};

/* ---- life ---- */

static void on_heard(void *arg, const struct vip_address *a, const char *mac)
{
    struct vip_net *n = arg;

    if (n->vip)
        vip_heard(n->vip, a, mac);
}

void vip_net_listen(struct vip_net *n, struct vip *v)
{
    n->vip = v;
}

const char *vip_net_interface(const struct vip_net *n, const struct vip_address *a)
{
    return binding_of(n, a)->on.name;
}

struct vip_net *vip_net_new(struct loop *loop, const struct vip_addresses *these,
                            const char *interface)
{
    struct vip_net *n = must(calloc(1, sizeof(*n)));
    bool is_whole;

    n->loop = loop;
    n->addresses = *these;
    n->interface = interface;
    n->link = vip_link_new();
    is_whole = n->link;
    for (size_t i = 0; is_whole && i < these->count; i++) {
        struct binding *p = &n->bindings[i];

        p->net = n;
        p->address = &n->addresses.at[i];
        timer_init(&p->fresh, on_fresh);
        p->arp_nd = vip_arp_nd_new(loop, p->address, on_heard, n);
        is_whole = p->arp_nd;
    }
    if (!is_whole) {
        int error = errno;

        vip_net_free(n);
        errno = error;
        return NULL;
    }
    return n;
}

void vip_net_free(struct vip_net *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->addresses.count; i++) {
        timer_disarm(&n->loop->timers, &n->bindings[i].fresh);
        vip_arp_nd_free(n->bindings[i].arp_nd);
    }
    vip_link_free(n->link);
    free(n);
}
