/* Addresses of the interfaces, over rtnetlink. Each call talks to the kernel and returns with its
 * answer, in some ten microseconds; it needs no loop, so the warden can use it as well.
 *
 * Addresses are put with IFA_F_NOPREFIXROUTE (no route comes or goes with them), IPv6 with
 * IFA_F_NODAD (usable at once), and with a lifetime: the kernel takes them away when nobody renews
 * it, within VIP_LIFETIME_S and some (kernels from 6.13 on are lazy: seen up to 3 s).
 */
#ifndef DUEQ_HA_VIP_LINK_H
#define DUEQ_HA_VIP_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ha/vip.h"

struct vip_link;

/* NULL, with errno: no netlink socket. Close-on-exec. */
struct vip_link *vip_link_new(void);
void vip_link_free(struct vip_link *l); /* NULL is fine */

struct vip_interface {
    unsigned index;
    char name[IF_NAMESIZE];
    unsigned char mac[6];
    bool is_up;
};

/* Where the address belongs: the interface `name`, or, "", the one that has an address of the
 * same subnet. NOT_FOUND with `why`, for people: no such interface, or none fits; of several the
 * first. WRONG_STATE with `why`: it has no hardware address (loopback, a tunnel), so neighbours
 * could not be told. `why` is valid until the next call. */
enum status vip_link_find(struct vip_link *l, const struct vip_address *a, const char *name,
                          struct vip_interface *found, const char **why) MUST_CHECK;

/* Puts it, or gives it a new lifetime. *why where it FAILED. */
enum vip_put vip_link_put(struct vip_link *l, const struct vip_address *a, unsigned index,
                          const char **why);

enum vip_presence {
    VIP_IS_NOWHERE,
    VIP_IS_OURS,   /* with a lifetime: it was put by a node */
    VIP_IS_FOR_EVER /* somebody has configured it on this machine */
};

/* On any interface; `name` (IF_NAMESIZE) gets where. */
enum vip_presence vip_link_presence(struct vip_link *l, const struct vip_address *a, char *name);

/* From every interface where it has a lifetime; what is there for ever is left alone. Returns from
 * how many. */
unsigned vip_link_remove(struct vip_link *l, const struct vip_address *a);

#endif
