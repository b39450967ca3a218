/* The virtual address on this machine: vip.h's operations, by link.h and packet.h.
 *
 * Interfaces come and go (a container that is connected anew has another one), so every put
 * checks the interface of the address; an interface that still fits stays.
 */
#ifndef DUEQ_HA_VIP_NET_H
#define DUEQ_HA_VIP_NET_H

#include "base/loop.h"
#include "ha/vip/vip.h"

struct vip_net;

/* `these` are copied; `interface` is borrowed: a name, or "": found by subnet. NULL, with
 * errno: no netlink or packet socket. Afterwards CAP_NET_ADMIN is enough. */
struct vip_net *vip_net_new(struct loop *loop, const struct vip_addresses *these,
                            const char *interface);
void vip_net_free(struct vip_net *n); /* after its vip, not from on_state; NULL is fine */

extern const struct vip_ops vip_net_ops; /* with the vip_net as `arg` */

/* Reports to `v` which hosts are heard to have an address. */
void vip_net_listen(struct vip_net *n, struct vip *v);

/* The interface of the address, as last looked up; "": none. */
const char *vip_net_interface(const struct vip_net *n, const struct vip_address *a);

#endif
