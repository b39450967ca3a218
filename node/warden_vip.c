#include "node/warden_vip.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/capabilities.h"

/* ---- what the kernel must let us do ---- */

static void complain_of_socket(const char *what)
{
    LOG_ERROR("warden", "vip.address: cannot open a %s socket: %s%s", what, strerror(errno),
              errno == EAFNOSUPPORT
                  ? "; a service may be kept from it: it needs AF_NETLINK and "
                    "AF_PACKET (RestrictAddressFamilies)"
                  : "");
}

static enum status open_link(struct warden_vip *v)
{
    v->link = vip_link_new();
    if (v->link)
        return STATUS_OK;
    complain_of_socket("netlink");
    return STATUS_IO_ERROR;
}

/* The worker will need such sockets; better that it is known now. */
static enum status try_packets(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        complain_of_socket("packet");
        return STATUS_IO_ERROR;
    }
    close(fd);
    return STATUS_OK;
}

/* ---- each address ---- */

static enum status make_room(struct vip_link *l, const struct vip_address *a)
{
    char where[IF_NAMESIZE];

    switch (vip_link_presence(l, a, where)) {
    case VIP_IS_FOREIGN:
        LOG_ERROR(
            "warden",
            "vip.address: %s is configured on this machine, on %s, and it is the nodes' to "
            "move: remove it from there (`ip address` shows it) and from what configures "
            "the network, DHCP included",
            a->text, where);
        return STATUS_IO_ERROR;
    case VIP_IS_OURS:
        LOG_INFO("warden", "%s was still on %s, as a node before this one has left it: removed",
                 a->text, where);
        vip_link_remove(l, a);
        return STATUS_OK;
    case VIP_IS_NOWHERE:
        break;
    }
    return STATUS_OK;
}

static enum status find_interface(struct vip_link *l, const struct vip_address *a,
                                  const char *name)
{
    struct vip_interface found;
    const char *why, *trouble;

    if (vip_link_find(l, a, name, &found, &why) != STATUS_OK) {
        LOG_ERROR("warden", "%s: no place for %s: %s; `ip -brief address` lists what there is",
                  *name ? "vip.interface" : "vip.address", a->text, why);
        return STATUS_IO_ERROR;
    }
    trouble = vip_interface_trouble(&found, a);
    if (found.is_up && trouble) {
        LOG_ERROR("warden", "vip.address: no place for %s on %s: %s", a->text, found.name,
                  trouble);
        return STATUS_IO_ERROR;
    }
    if (trouble)
        LOG_WARN("warden", "vip.address: %s is to be on %s: %s; `ip link show %s` tells",
                 a->text, found.name, trouble, found.name);
    return STATUS_OK;
}

/* All of them, so that all mistakes are seen at once. */
static enum status check_addresses(struct warden_vip *v, const char *interface)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < v->addresses.count; i++) {
        const struct vip_address *a = &v->addresses.at[i];

        if (make_room(v->link, a) != STATUS_OK ||
            find_interface(v->link, a, interface) != STATUS_OK)
            s = STATUS_IO_ERROR;
    }
    return s;
}

/* ---- its owner ---- */

enum status warden_vip_init(struct warden_vip *v, const struct conf *conf)
{
    enum status s;

    *v = (struct warden_vip){.link = NULL};
    if (!*conf->vip.address || *conf->vip.hook)
        return STATUS_OK;
    s = vip_addresses_parse(&v->addresses, conf->vip.address);
    assert(s == STATUS_OK); /* conf/check_vip.c takes no other */
    if (capabilities_raise("vip.address") != STATUS_OK || open_link(v) != STATUS_OK ||
        try_packets() != STATUS_OK)
        return STATUS_IO_ERROR;
    return check_addresses(v, conf->vip.interface);
}

void warden_vip_remove(struct warden_vip *v)
{
    int64_t from_us = clock_mono_us();
    unsigned removed = 0;

    if (!v->link)
        return;
    for (size_t i = 0; i < v->addresses.count; i++)
        removed += vip_link_remove(v->link, &v->addresses.at[i]);
    LOG_DEBUG("warden", "virtual address: removed %u, in %lld us", removed,
              (long long)(clock_mono_us() - from_us));
}

void warden_vip_close(struct warden_vip *v)
{
    vip_link_free(v->link);
    v->link = NULL;
}

void warden_vip_fini(struct warden_vip *v)
{
    warden_vip_remove(v);
    warden_vip_close(v);
}
