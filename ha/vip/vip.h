/* The virtual address: clients know one address, and the leader has it. This is the state
 * machine; it does no I/O, and knows the time from its timers only.
 *
 *             vip_take()                 vip_hand_over()
 *     AWAY ----------------> HELD ---------------------------> LEAVING
 *      ^                      | ^                               |  |
 *      |      vip_drop()      | |          vip_take()           |  |
 *      |<---------------------+ +-------------------------------+  |
 *      |                                                           |
 *      |     the successor is heard to have it;                    |
 *      +<-----------------------------------------------------------
 *            VIP_LEAVING_MAX_MS after the last renewal; vip_drop()
 *
 *   AWAY     this host does not have the address
 *   HELD     this host is to have the address. If may_hold() permits, the address is on the
 *            interface and announced; else, or after a failure, the next renewal tries again
 *   LEAVING  the lead is given away gracefully. The address stays until the successor is heard
 *            to have it, so that no moment is without an address: make before break. It is
 *            renewed at once and while may_hold() permits; VIP_LEAVING_MAX_MS after the last
 *            renewal it is removed in any case. If this process cannot do that, the address's
 *            lifetime ends it. It is not announced
 *
 * The address has a lifetime of VIP_LIFETIME_S, renewed every VIP_RENEW_MS, so that the kernel
 * takes it from a frozen process. may_hold() is asked before each renewal, because a renewal
 * after a freeze could put back an address that another node has by then. If may_hold() says
 * no, the address is removed at once. The state stays HELD, because this file does not decide
 * the lead; the first renewal that may_hold() permits puts the address back. may_hold() is
 * asked before each announcement, too.
 *
 * A renewal that finds the address gone puts it back and announces it anew: somebody has
 * removed it by hand, or the interface was away.
 *
 * The address is announced 0, 100, 300, 700 and 1500 ms after it was put, and then every
 * VIP_ANNOUNCE_EVERY_MS: neighbours keep what they have heard last. Another host that is heard
 * to have it is answered with an announcement, at once or VIP_DEFEND_MS after the last such. In
 * the first VIP_SETTLE_MS that host is the leader before, which has not noticed yet; later it
 * is a conflict, logged and counted. Probes find hosts that have the address in silence: after
 * the VIP_SETTLE_MS, and then with each announcement. Not earlier, because the leader before
 * would answer, and in IPv6 its answer goes to everybody and overrides this host's
 * announcement.
 *
 * The successor is any host heard in LEAVING, except a host in conflict, whose announcements
 * would end make before break. A host heard before LEAVING is no successor: this node led then.
 *
 * Of several addresses each one leaves when that address is heard. If one were enough for all,
 * a lost announcement of another address would leave its clients without a node. So these
 * clients have the old leader for a second at most, which serves each of them once more and
 * then closes the connection.
 */
#ifndef DUEQ_HA_VIP_VIP_H
#define DUEQ_HA_VIP_VIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/vip/address.h"

#define VIP_LIFETIME_S        1
#define VIP_RENEW_MS          300
#define VIP_LEAVING_MAX_MS    1000
#define VIP_ANNOUNCE_EVERY_MS 10000
#define VIP_SETTLE_MS         2000
#define VIP_DEFEND_MS         1000
#define VIP_CONFLICT_MS       20000 /* how long a heard host counts as in conflict */

enum vip_state { VIP_AWAY, VIP_HELD, VIP_LEAVING };

/* The outcome of putting an address on the interface. */
enum vip_put {
    VIP_PUT_ADDED,   /* it was not there */
    VIP_PUT_RENEWED, /* it was there, put by a node: its lifetime is new now */
    VIP_PUT_FAILED
};

/* The network: net.h, in tests a fake. Removing, announcing or probing an address that is not
 * there does no harm. */
struct vip_ops {
    /* `why` is for people, valid until the next call, and set when FAILED. */
    enum vip_put (*put)(void *arg, const struct vip_address *a, const char **why);
    void (*remove)(void *arg, const struct vip_address *a);
    void (*announce)(void *arg, const struct vip_address *a);
    void (*probe)(void *arg, const struct vip_address *a); /* who else has it? */
};

struct vip_options {
    struct vip_addresses addresses;
    const struct vip_ops *ops;
    void *ops_arg;
    struct timers *timers; /* borrowed */
    /* May this node have the address at this very moment? True while its lease lasts and the
     * lead is not given away (ha_may_hold). Must be false from the give-away on, or LEAVING
     * does not end. */
    bool (*may_hold)(void *arg);
    /* The state has changed; the last statement of the call that changed it. In VIP_HELD the
     * address is on this host, or vip_why() says why not. */
    void (*on_state)(void *arg, enum vip_state state);
    void *arg;
};

/* Counters since start, over all addresses. */
struct vip_stats {
    uint64_t taken;         /* once for all addresses together */
    uint64_t restored;      /* an address was gone, and was put back */
    uint64_t announcements; /* once for all packets of an announcement */
    uint64_t conflicts;     /* another host was heard to have it: once per VIP_DEFEND_MS */
    uint64_t failures;      /* failed attempts to put an address */
};

struct vip;

/* Never NULL. The options are copied. */
struct vip *vip_new(const struct vip_options *options);
void vip_free(struct vip *v);      /* removes it first, without on_state; NULL is fine */
void vip_take(struct vip *v);      /* this node leads; in HELD: puts missing addresses */
void vip_hand_over(struct vip *v); /* another node is to lead; ignored unless HELD */
void vip_drop(struct vip *v);      /* removes it at once; harmless twice */

/* vip_ops' network has heard that the host `mac` (text) has the address. */
void vip_heard(struct vip *v, const struct vip_address *a, const char *mac);
enum vip_state vip_state(const struct vip *v);
const char *vip_state_word(enum vip_state state); /* "away", "held", "leaving" */
const struct vip_stats *vip_stats(const struct vip *v);

/* Are all addresses on this host, as far as is known? */
bool vip_is_here(const struct vip *v);

/* Why an address is not here although the state is HELD; "": all are. Valid until the loop
 * turns.
 */
const char *vip_why(const struct vip *v);

/* The host that was last in conflict, within the last VIP_CONFLICT_MS; "": none. */
const char *vip_conflict(const struct vip *v);

#endif
