/* Addresses of the interfaces, over rtnetlink. Each call talks to the kernel and returns with
 * its answer, in some ten microseconds. No loop is needed, so the warden can use it as well.
 *
 * An address is put as that of one host (/32, /128), without a route to others
 * (IFA_F_NOPREFIXROUTE), IPv6 usable at once (IFA_F_NODAD), and with a lifetime: the kernel
 * removes an address that nobody renews, within VIP_LIFETIME_S and some (kernels from 6.13 on
 * are lazy: seen up to 3 s). These marks identify an address that a node has put. An address
 * with other marks, put by hand or DHCP, is foreign, and neither changed nor removed.
 *
 * The preferred lifetime of IPv6 is 0: this host's own connections then use its other address,
 * and survive when the virtual one moves. IPv4 needs no such mark: the kernel takes the first
 * address of the interface's subnet, which is the host's. There the preferred lifetime equals
 * the valid one, because 0 would only look like an error.
 */
#ifndef DUEQ_HA_VIP_LINK_H
#define DUEQ_HA_VIP_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ha/vip/vip.h"

struct vip_link;

/* NULL, with errno: no netlink socket. Close-on-exec. */
struct vip_link *vip_link_new(void);
void vip_link_free(struct vip_link *l); /* NULL is fine */

struct vip_interface {
    unsigned index;
    char name[IF_NAMESIZE];
    unsigned char mac[6];
    bool is_up;        /* and has a carrier */
    bool is_unplugged; /* up but without a carrier: the cable is out */
    bool is_ipv6_off;  /* sysctl disable_ipv6 */
};

/* Why the address could not be on the interface, or would reach nobody; NULL: it could. */
static inline const char *vip_interface_fault(const struct vip_interface *on,
                                              const struct vip_address *a)
{
    if (on->is_unplugged)
        return "the interface has no carrier";
    if (!on->is_up)
        return "the interface is down";
    return on->is_ipv6_off && a->family == AF_INET6
               ? "IPv6 is switched off there (sysctl disable_ipv6)"
               : NULL;
}

/* Finds the interface of the address: `name`, or for "" the interface with an address of the
 * same subnet, of several the smallest subnet's. `why` is for people and valid until the next
 * call. NOT_FOUND: no such interface, or none fits. WRONG_STATE: the interface has no hardware
 * address (loopback, a tunnel), so neighbours could not be told. IO_ERROR: the kernel refused.
 */
enum status vip_link_find(struct vip_link *l, const struct vip_address *a, const char *name,
                          struct vip_interface *found, const char **why) MUST_CHECK;

/* Reads the interface's present state. Status and `why` as vip_link_find(). */
enum status vip_link_look(struct vip_link *l, unsigned index, struct vip_interface *found,
                          const char **why) MUST_CHECK;

/* Puts the address, or gives it a new lifetime. Sets *why when FAILED. */
enum vip_put vip_link_put(struct vip_link *l, const struct vip_address *a, unsigned index,
                          const char **why);

/* Renews the address on every interface where it is OURS; puts it on no other. */
void vip_link_renew(struct vip_link *l, const struct vip_address *a);

/* Does the kernel take packets for the address? IPv6 takes some time after it was put: usually
 * 0.04 ms, 20 ms were seen. */
bool vip_link_is_usable(struct vip_link *l, const struct vip_address *a);

enum vip_presence {
    VIP_IS_NOWHERE,
    VIP_IS_OURS,    /* put by a node */
    VIP_IS_FOREIGN, /* somebody else has configured it on this machine */
    VIP_IS_UNKNOWN  /* the list of addresses cannot be read: the log says why */
};

/* Is it the first or the last address of a subnet of this machine? In IPv4 no host can have
 * these: the network's address, and the broadcast address. */
bool vip_link_is_edge(struct vip_link *l, const struct vip_address *a);

/* Looks on all interfaces; `name` (IF_NAMESIZE) gets the interface. FOREIGN if it is both. */
enum vip_presence vip_link_presence(struct vip_link *l, const struct vip_address *a,
                                    char *name);

/* Removes the address from every interface where it is OURS. Returns the number of these; the
 * log says what failed. */
unsigned vip_link_remove(struct vip_link *l, const struct vip_address *a);

/* For link.c and its tests only: the link itself, and the addresses of this machine. */

struct vip_link {
    struct vip_rtnl *rtnl;
    unsigned lifetime_s; /* VIP_LIFETIME_S; longer in slow tests */
    char why[200];
};

/* An address of an interface. */
struct vip_entry {
    unsigned index, prefix_len, flags;
    unsigned valid_s;            /* UINT32_MAX: for ever */
    const unsigned char *local;  /* borrowed from the message, of the family's length */
    const unsigned char *subnet; /* differs from `local` at the end of a tunnel */
};

/* Lists the addresses of the family on interface `index`; 0: on all. `on_entry` gets each, and
 * some twice when the list has changed meanwhile. Returns 0 or an errno. */
int vip_link_list(struct vip_link *l, int family, unsigned index,
                  void (*on_entry)(void *arg, const struct vip_entry *e), void *arg) MUST_CHECK;

#endif
