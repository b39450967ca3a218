/* The warden's part of the virtual address: whatever can be wrong with it is found before
 * anything runs, not at the first failover; and when its worker has died, the address goes at
 * once, before the session ends and another node takes it.
 */
#ifndef DUEQ_NODE_WARDEN_VIP_H
#define DUEQ_NODE_WARDEN_VIP_H

#include "base/status.h"
#include "conf/conf.h"
#include "ha/vip_link.h"

struct warden_vip {
    struct vip_addresses addresses; /* none: there is no virtual address, or the hook's */
    int locks[VIP_ADDRESSES_MAX];   /* one node of a machine each; -1: not locked */
    struct vip_link *link; /* NULL: the same; or this process is a child of the warden's */
};

/* Capabilities, sockets, interface, and that nobody has configured the address on this machine.
 * What a predecessor of this node has left is removed, so it must be gone: after the data
 * directory's lock. Another node of this machine that has it is no predecessor: refused.
 * IO_ERROR: the log says what to do. */
enum status warden_vip_init(struct warden_vip *v, const struct conf *conf) MUST_CHECK;
void warden_vip_fini(struct warden_vip *v); /* removes the address, if it is still here */

/* waitpid() has returned the worker. */
void warden_vip_remove(struct warden_vip *v);

/* In a child of the warden's: it is none of its business. */
void warden_vip_close(struct warden_vip *v);

#endif
