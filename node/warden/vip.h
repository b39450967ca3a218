/* The warden's part of the virtual address. Whatever can be wrong with it is found before
 * anything runs, not at the first failover.
 *
 * A worker that hangs does not renew the address. The warden renews it while the worker's lease
 * lasts, until the killed worker is reaped: else the kernel could not tell the clients of the
 * worker's end. Each renewal is for one second: enough for that, and bearable for the next
 * leader, which may lead milliseconds later where the warden dies as well.
 *
 * A worker that has died leaves the address behind. It stays, not renewed, until another host
 * is heard to have it, WARDEN_VIP_LEAVING_MS at most from when others may lead: a frame that
 * nobody takes is sent again only after a second. The listeners refuse meanwhile, so two hosts
 * may have the address for a moment, and only one of them accepts.
 */
#ifndef DUEQ_NODE_WARDEN_VIP_H
#define DUEQ_NODE_WARDEN_VIP_H

#include <poll.h>

#include "base/status.h"
#include "conf/conf.h"
#include "ha/vip/packet.h"
#include "ha/vip/link.h"

#define WARDEN_VIP_LEAVING_MS 250

struct warden_vip {
    struct vip_addresses addresses; /* none: there is no virtual address, or the hook's */
    int locks[VIP_ADDRESSES_MAX];   /* each held by one node of a machine; -1: not locked */
    struct vip_link *link; /* NULL: no virtual address, or this is a child of the warden */
    int64_t renewed_mono_ms;
    unsigned leaving; /* bits, by place in `addresses`: kept until another host is heard */
    int64_t leave_by_mono_ms;
    struct vip_arp_nd *arp_nds[VIP_ADDRESSES_MAX]; /* of these; else NULL */
};

/* Capabilities, sockets, interface, and that nobody has configured the address on this machine.
 * An address that a predecessor of this node has left is removed; so call with the data
 * directory's lock, when the predecessor is gone. IO_ERROR: refused, also where another node of
 * this machine has the address; the log says what to do. */
enum status warden_vip_init(struct warden_vip *v, const struct conf *conf) MUST_CHECK;
void warden_vip_fini(struct warden_vip *v); /* removes the address, if it is still here */

/* The last word of a worker. */
struct warden_vip_word {
    int64_t heard_mono_ms; /* last; a healthy worker is heard each VIP_RENEW_MS or oftener */
    int64_t until_boot_ms; /* its lease ends; 0: it has none */
};

/* When a silent worker is to be ended, by the monotonic clock: while the address is still here,
 * so that its clients are told. After `silence_max_ms` at most, and after half of it at least.
 * 0: the address asks for nothing. */
int64_t warden_vip_hang_by(const struct warden_vip *v, const struct warden_vip_word *word,
                           int64_t silence_max_ms, int64_t now_mono_ms, int64_t now_boot_ms);

/* Renews in the worker's place, every VIP_RENEW_MS after its last word, while its lease lasts.
 * An address that is not here is not put. Returns the ms until it wants to be called again, -1:
 * not for this word. */
int64_t warden_vip_renew(struct warden_vip *v, const struct warden_vip_word *word,
                         int64_t now_mono_ms, int64_t now_boot_ms);

/* waitpid() has returned the worker: removes all addresses at once. */
void warden_vip_remove(struct warden_vip *v);

/* The same, but each stays until another host is heard to have it. False: none is here. To be
 * called before the others know of the death. */
bool warden_vip_leave(struct warden_vip *v, int64_t now_mono_ms);

/* The others are about to know: the time of those that stay counts from now on. */
void warden_vip_leave_from(struct warden_vip *v, int64_t now_mono_ms);
bool warden_vip_is_leaving(const struct warden_vip *v);

/* Fills in the descriptors for poll(), and returns how many; after poll() call
 * warden_vip_hear(). */
size_t warden_vip_fds(const struct warden_vip *v, struct pollfd fds[VIP_ADDRESSES_MAX]);
void warden_vip_hear(struct warden_vip *v);

/* Removes the addresses whose time is over without another host heard. Returns the ms until it
 * wants to be called again, -1: none is left. */
int64_t warden_vip_tick(struct warden_vip *v, int64_t now_mono_ms);

/* In a child of the warden: closes what it inherited; the address stays. */
void warden_vip_close(struct warden_vip *v);

#endif
