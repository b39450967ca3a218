/* The clients of the virtual address while it comes and goes: stands between vip.h and the
 * network's operations.
 *
 *   put     the clients are served from now on, unless they are being drained. Where it fails
 *           the address counts as gone; the clients stay, for the next renewal may succeed
 *   remove  clients that are left are closed first: they can still be told while the address
 *           is here. Where they were drained before, their last replies go out first, for a
 *           moment: the successor has the address by then, and no new client comes
 */
#ifndef DUEQ_NODE_VIP_CLIENTS_H
#define DUEQ_NODE_VIP_CLIENTS_H

#include "base/timer.h"
#include "ha/vip/vip.h"
#include "protocol/conn/floating.h"

#define VIP_LAST_REPLIES_MS 250

struct port;

struct vip_clients {
    const struct vip_addresses *addresses;
    const struct vip_ops *ops; /* the network's */
    void *ops_arg;
    struct timers *timers;
    void (*on_here)(void *arg, bool is_here); /* the first address has come, the last is gone */
    void *arg;
    struct port *const *ports; /* borrowed */
    unsigned port_count;
    struct floating floating; /* what they are told */
    unsigned here;            /* bits, by place in `addresses` */
    unsigned going;           /* of these: kept for the last replies only */
    struct timer last_replies;
    int64_t until_mono_ms; /* at most */
};

/* The caller has set addresses, ops, ops_arg, timers, on_here and arg. */
void vip_clients_init(struct vip_clients *c);
void vip_clients_fini(struct vip_clients *c);

void vip_clients_serve(struct vip_clients *c, struct port *const *ports, unsigned count);

extern const struct vip_ops vip_clients_ops; /* with the vip_clients as `arg` */

/* drain: the address is about to leave, gracefully. welcome: it stays after all, or has come.
 */
void vip_clients_drain(struct vip_clients *c);
void vip_clients_welcome(struct vip_clients *c);

/* Is a client of the address owed a reply? */
bool vip_clients_are_owed(const struct vip_clients *c);

/* Closes all clients now, and removes addresses kept for the last replies. */
void vip_clients_cut_off(struct vip_clients *c);

#endif
