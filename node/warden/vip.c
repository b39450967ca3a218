#include "node/warden/vip.h"

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

/* Two nodes of one machine would take the address from each other, and neither would hear it:
 * both have the same hardware address. The lock is an abstract socket name: it belongs to the
 * network namespace, as the address does, and goes with the process; forked children close it.
 */
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
    trouble = vip_interface_fault(&found, a);
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

/* ---- a worker that hangs ---- */

int64_t warden_vip_renew(struct warden_vip *v, const struct warden_vip_word *word,
                         int64_t now_mono_ms, int64_t now_boot_ms)
{
    int64_t last_ms =
        word->heard_mono_ms > v->renewed_mono_ms ? word->heard_mono_ms : v->renewed_mono_ms;

    if (!v->link || now_boot_ms >= word->until_boot_ms)
        return -1;
    if (now_mono_ms - last_ms < VIP_RENEW_MS)
        return last_ms + VIP_RENEW_MS - now_mono_ms;
    for (size_t i = 0; i < v->addresses.count; i++)
        vip_link_renew(v->link, &v->addresses.at[i]);
    v->renewed_mono_ms = now_mono_ms;
    return VIP_RENEW_MS;
}

/* Half of the address's life after the last renewal before the lease's end: the rest is for a
 * busy machine. */
#define OUTLIVES_LEASE_MS ((VIP_LIFETIME_S * 1000 - VIP_RENEW_MS) / 2)

int64_t warden_vip_hang_by(const struct warden_vip *v, const struct warden_vip_word *word,
                           int64_t silence_max_ms, int64_t now_mono_ms, int64_t now_boot_ms)
{
    int64_t least_mono_ms = word->heard_mono_ms + silence_max_ms / 2, by_mono_ms;

    if (!v->link || !word->until_boot_ms || !silence_max_ms)
        return 0;
    by_mono_ms = now_mono_ms + word->until_boot_ms - now_boot_ms + OUTLIVES_LEASE_MS;
    return by_mono_ms > least_mono_ms ? by_mono_ms : least_mono_ms;
}

/* ---- one that has died ---- */

static void stop_hearing(struct warden_vip *v)
{
    for (size_t i = 0; i < v->addresses.count; i++) {
        vip_arp_nd_free(v->arp_nds[i]);
        v->arp_nds[i] = NULL;
    }
    v->leaving = 0;
}

static void on_heard(void *arg, const struct vip_address *a, const char *mac)
{
    struct warden_vip *v = arg;
    size_t i = (size_t)(a - v->addresses.at);

    if (!(v->leaving >> i & 1))
        return;
    LOG_INFO("warden", "%s has %s now", mac, a->text);
    vip_link_remove(v->link, a);
    v->leaving &= ~(1u << i);
}

/* Is the address here, and would another host be heard to take it? */
static bool hear_of(struct warden_vip *v, size_t i)
{
    const struct vip_address *a = &v->addresses.at[i];
    struct vip_interface on;
    char name[IF_NAMESIZE];
    const char *why;

    if (vip_link_presence(v->link, a, name) != VIP_IS_OURS ||
        vip_link_find(v->link, a, name, &on, &why) != STATUS_OK)
        return false;
    v->arp_nds[i] = vip_arp_nd_new(NULL, a, on_heard, v);
    if (v->arp_nds[i] && vip_arp_nd_bind(v->arp_nds[i], &on) == STATUS_OK)
        return true;
    LOG_WARN("warden", "cannot hear who has %s next: %s", a->text, strerror(errno));
    return false;
}

void warden_vip_leave_from(struct warden_vip *v, int64_t now_mono_ms)
{
    v->leave_by_mono_ms = now_mono_ms + WARDEN_VIP_LEAVING_MS;
}

bool warden_vip_leave(struct warden_vip *v, int64_t now_mono_ms)
{
    if (!v->link)
        return false;
    stop_hearing(v);
    warden_vip_leave_from(v, now_mono_ms);
    for (size_t i = 0; i < v->addresses.count; i++) {
        if (hear_of(v, i))
            v->leaving |= 1u << i;
        else
            vip_link_remove(v->link, &v->addresses.at[i]);
    }
    if (!v->leaving)
        stop_hearing(v);
    return v->leaving;
}

bool warden_vip_is_leaving(const struct warden_vip *v)
{
    return v->leaving;
}

size_t warden_vip_fds(const struct warden_vip *v, struct pollfd fds[VIP_ADDRESSES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < v->addresses.count; i++)
        if (v->leaving >> i & 1)
            fds[count++] =
                (struct pollfd){.fd = vip_arp_nd_fd(v->arp_nds[i]), .events = POLLIN};
    return count;
}

void warden_vip_hear(struct warden_vip *v)
{
    for (size_t i = 0; i < v->addresses.count; i++)
        if (v->leaving >> i & 1)
            vip_arp_nd_read(v->arp_nds[i]);
}

int64_t warden_vip_tick(struct warden_vip *v, int64_t now_mono_ms)
{
    if (v->leaving && now_mono_ms < v->leave_by_mono_ms)
        return v->leave_by_mono_ms - now_mono_ms;
    for (size_t i = 0; i < v->addresses.count; i++) {
        if (!(v->leaving >> i & 1))
            continue;
        LOG_INFO("warden", "no other host was heard to have %s in %d ms",
                 v->addresses.at[i].text, WARDEN_VIP_LEAVING_MS);
        vip_link_remove(v->link, &v->addresses.at[i]);
    }
    stop_hearing(v);
    return -1;
}

/* ---- its end ---- */

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
    stop_hearing(v);
    unlock_addresses(v);
    vip_link_free(v->link);
    v->link = NULL;
}

void warden_vip_fini(struct warden_vip *v)
{
    warden_vip_remove(v);
    warden_vip_close(v);
}
