/* Addresses of the interfaces, over rtnetlink. Each call talks to the kernel and returns with
 * its answer, in some ten microseconds; it needs no loop, so the warden can use it as well.
 *
 * An address is put as that of one host (/32, /128), so without a route to others
 * (IFA_F_NOPREFIXROUTE), IPv6 usable at once (IFA_F_NODAD), and with a lifetime: the kernel
 * takes it away when nobody renews it, within VIP_LIFETIME_S and some (kernels from 6.13 on are
 * lazy: seen up to 3 s). By these marks an address that a node has put is known; what has
 * others, by hand or from DHCP, is somebody else's, and neither changed nor removed.
 *
 * The preferred lifetime of IPv6 is 0: what this host connects to then sees its own address,
 * and survives when the virtual one moves. IPv4 has no such choice, and needs none: the first
 * address of the interface's subnet is taken, which is the host's. There it is as long as the
 * other one, for one of 0 would only look like an error.
 */
#ifndef DUEQ_HA_VIP_LINK_H
#define DUEQ_HA_VIP_LINK_H

#include <libmnl/libmnl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ha/vip/vip.h"

/* Questions to the kernel's rtnetlink, each with its answer: no loop, no callback that comes
 * later.
 *
 * The kernel does the work while the question is sent, so the answer is there at once. What an
 * earlier question is answered after all is known by its number, and left out.
 */

struct vip_rtnl;

/* NULL, with errno. Close-on-exec. */
struct vip_rtnl *vip_rtnl_new(void);
void vip_rtnl_free(struct vip_rtnl *r); /* NULL is fine */

/* A new question, for mnl_attr_put*(). `extra_bytes` of the type's own header come to *extra,
 * zeroed. Valid until the next. */
struct nlmsghdr *vip_rtnl_request(struct vip_rtnl *r, uint16_t type, uint16_t flags,
                                  size_t extra_bytes, void *extra);

/* Asks the newest question. 0, or the errno of what went wrong. `on_item`, which may be NULL,
 * gets each message of the answer; of a list that changed meanwhile, which is read again, some
 * twice. */
int vip_rtnl_ask(struct vip_rtnl *r, void (*on_item)(void *arg, const struct nlmsghdr *item),
                 void *arg) MUST_CHECK;

struct vip_link;

/* NULL, with errno: no netlink socket. Close-on-exec. */
struct vip_link *vip_link_new(void);
void vip_link_free(struct vip_link *l); /* NULL is fine */

struct vip_interface {
    unsigned index;
    char name[IF_NAMESIZE];
    unsigned char mac[6];
    bool is_up;        /* and has a carrier */
    bool is_unplugged; /* it would be up, but has none: the cable is out */
    bool is_ipv6_off;  /* sysctl disable_ipv6 */
};

/* Why an address could not be there, or would reach nobody; NULL: it could. */
static inline const char *vip_interface_trouble(const struct vip_interface *on,
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

/* Where the address belongs: the interface `name`, or, "", the one that has an address of the
 * same subnet, of several the smallest subnet's. NOT_FOUND with `why`, for people: no such
 * interface, or none fits. WRONG_STATE with `why`: it has no hardware address (loopback, a
 * tunnel), so neighbours could not be told. IO_ERROR with `why`. It is valid until the next
 * call. */
enum status vip_link_find(struct vip_link *l, const struct vip_address *a, const char *name,
                          struct vip_interface *found, const char **why) MUST_CHECK;

/* As it is now. As vip_link_find(). */
enum status vip_link_look(struct vip_link *l, unsigned index, struct vip_interface *found,
                          const char **why) MUST_CHECK;

/* Puts it, or gives it a new lifetime. *why where it FAILED. */
enum vip_put vip_link_put(struct vip_link *l, const struct vip_address *a, unsigned index,
                          const char **why);

/* Renews it wherever it is OURS; where it is not it is not put. */
void vip_link_renew(struct vip_link *l, const struct vip_address *a);

/* Does the kernel take what is sent to it? Of IPv6 that comes some time after putting it:
 * usually 0.04 ms, 20 ms were seen. */
bool vip_link_is_usable(struct vip_link *l, const struct vip_address *a);

enum vip_presence {
    VIP_IS_NOWHERE,
    VIP_IS_OURS,    /* put by a node */
    VIP_IS_FOREIGN, /* somebody else has configured it on this machine */
    VIP_IS_UNKNOWN  /* the list of addresses cannot be read: the log says why */
};

/* Is it the first or the last address of a subnet that this machine is in? Those of IPv4 are no
 * host's: the network itself, and all. */
bool vip_link_is_edge(struct vip_link *l, const struct vip_address *a);

/* On any interface; `name` (IF_NAMESIZE) gets where. FOREIGN, where it is both. */
enum vip_presence vip_link_presence(struct vip_link *l, const struct vip_address *a,
                                    char *name);

/* From every interface where it is OURS. Returns from how many; the log says what failed. */
unsigned vip_link_remove(struct vip_link *l, const struct vip_address *a);

/* For vip_link*.c only: the link itself, and the addresses of this machine as the kernel tells
 * them. */

struct vip_link {
    struct vip_rtnl *rtnl;
    unsigned lifetime_s; /* VIP_LIFETIME_S; slow tests have more */
    char why[200];
};

/* An address of an interface. */
struct vip_entry {
    unsigned index, prefix_len, flags;
    unsigned valid_s;            /* UINT32_MAX: for ever */
    const unsigned char *local;  /* borrowed from the message, of the family's length */
    const unsigned char *subnet; /* not the same at the end of a tunnel */
};

/* Lists those of interface `index`, or, 0, of all: `on_entry` gets each of this family, when
 * the list has changed meanwhile some twice. 0, or an errno. */
int vip_link_list(struct vip_link *l, int family, unsigned index,
                  void (*on_entry)(void *arg, const struct vip_entry *e), void *arg) MUST_CHECK;

#endif
