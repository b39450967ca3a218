/* The clients of the virtual address, while it comes and goes: vip.h's operations, with them in
 * between.
 *
 *   put      they are served from now on, if they are not being let go. Where it fails the
 * address counts as gone; they stay, for it may be back with the next renewal remove   those
 * that are left are closed first: an address that is here can still tell them. Where they were
 * let go before, the replies that they are owed go out first, for a moment: the successor has
 * the address by then, and nobody comes newly
 */
#ifndef DUEQ_NODE_VIP_CLIENTS_H
#define DUEQ_NODE_VIP_CLIENTS_H

#include "base/timer.h"
#include "ha/vip/vip.h"
#include "protocol/conn/moving.h"

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
    struct moving moving; /* what they are told */
    unsigned here;        /* bits, by place in `addresses` */
    unsigned going;       /* of these: here for the last replies only */
    struct timer last_replies;
    int64_t until_mono_ms; /* at most */
};

/* The caller has set addresses, ops, ops_arg, timers, on_here and arg. */
void vip_clients_init(struct vip_clients *c);
void vip_clients_fini(struct vip_clients *c);

void vip_clients_serve(struct vip_clients *c, struct port *const *ports, unsigned count);

extern const struct vip_ops vip_clients_ops; /* with the vip_clients as `arg` */

/* The address is about to leave, in order; or it stays, or has come. */
void vip_clients_let_go(struct vip_clients *c);
void vip_clients_welcome(struct vip_clients *c);

/* Is a client of the address owed a reply? */
bool vip_clients_are_owed(const struct vip_clients *c);

/* Closes all, now; what was here for the last replies is removed. */
void vip_clients_cut_off(struct vip_clients *c);

#endif
