#include "node/warden_vip.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

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

/* ---- one node of a machine ---- */

/* Two would take the address from each other, and neither hears it: both have the same hardware
 * address. The name is one of the network namespace, as the address is, and goes with the
 * process; children that are no programs close it. */
static enum status lock_one(int *lock, const struct vip_address *a)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len =
        (size_t)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dueq/vip/%s", a->text);

    *lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*lock >= 0 && !bind(*lock, (const struct sockaddr *)(const void *)&name,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)))
        return STATUS_OK;
    LOG_ERROR("warden", "vip.address: %s: %s", a->text,
              errno == EADDRINUSE
                  ? "another node on this machine has it; one node of a machine "
                    "(or network namespace) may move an address"
                  : strerror(errno));
    return STATUS_IO_ERROR;
}

static enum status lock_addresses(struct warden_vip *v)
{
    for (size_t i = 0; i < v->addresses.count; i++)
        if (lock_one(&v->locks[i], &v->addresses.at[i]) != STATUS_OK)
            return STATUS_IO_ERROR;
    return STATUS_OK;
}

static void unlock_addresses(struct warden_vip *v)
{
    for (size_t i = 0; i < v->addresses.count; i++) {
        if (v->locks[i] >= 0)
            close(v->locks[i]);
        v->locks[i] = -1;
    }
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
    case VIP_IS_UNKNOWN:
        LOG_ERROR("warden", "vip.address: whether %s is on this machine already cannot be seen",
                  a->text);
        return STATUS_IO_ERROR;
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

    if (vip_link_is_edge(l, a)) {
        LOG_ERROR(
            "warden",
            "vip.address: %s is the network's own or the broadcast address of a subnet of "
            "this machine: take another one",
            a->text);
        return STATUS_IO_ERROR;
    }
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
    if (!*conf->vip.address || *conf->vip.hook) {
        capabilities_drop();
        return STATUS_OK;
    }
    s = vip_addresses_parse(&v->addresses, conf->vip.address);
    assert(s == STATUS_OK); /* conf/check_vip.c takes no other */
    for (size_t i = 0; i < v->addresses.count; i++)
        v->locks[i] = -1;
    if (capabilities_raise("vip.address") != STATUS_OK || lock_addresses(v) != STATUS_OK ||
        open_link(v) != STATUS_OK || try_packets() != STATUS_OK)
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
    unlock_addresses(v);
    vip_link_free(v->link);
    v->link = NULL;
}

void warden_vip_fini(struct warden_vip *v)
{
    warden_vip_remove(v);
    warden_vip_close(v);
}
