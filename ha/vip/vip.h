/* The virtual address: clients know one, and it is where the leader is. This is the state
 * machine; it does no I/O, and knows the time from its timers alone.
 *
 *             vip_take()                 vip_hand_over()
 *     AWAY ----------------> HELD ---------------------------> LEAVING
 *      ^                      | ^                               |  |
 *      |      vip_drop()      | |          vip_take()           |  |
 *      |<---------------------+ +-------------------------------+  |
 *      |                                                           |
 *      |     the successor was heard to have it;                   |
 *      +<-----------------------------------------------------------
 *            VIP_LEAVING_MAX_MS after the last renewal; vip_drop()
 *
 *   AWAY     this host does not have it
 *   HELD     this host is to have it: it is on the interface where may_hold() permits, or the
 *            next renewal tries again; it is announced, and what others say is listened to
 *   LEAVING  the lead is given away gracefully. The address stays until the successor was heard
 *            to have it, so that there is no moment without one: make before break. It is
 *            renewed at once and as long as may_hold() permits, then no more, and its lifetime
 *            ends it where this process cannot; VIP_LEAVING_MAX_MS after the last renewal it
 *            goes in any case. It is not announced
 *
 * The address has a lifetime of VIP_LIFETIME_S and is given a new one every VIP_RENEW_MS, so
 * that the kernel takes it from a process that is frozen. Before each renewal may_hold() is
 * asked, because one that comes after a freeze would put the address back that another node has
 * by then: where it says no the address is removed at once. The state stays HELD then, for the
 * lead is not this file's matter; who leads without a proven lease gets the address with the
 * first renewal that finds one. may_hold() is asked before each announcement, too.
 *
 * A renewal that finds the address gone puts it back, and announces it anew: somebody has
 * removed it by hand, or the interface was away.
 *
 * Announced at 0, 100, 300, 700 and 1500 ms after it was put, and every VIP_ANNOUNCE_EVERY_MS
 * from then on: neighbours keep what they have heard last. Hearing that another host has it is
 * answered with an announcement: at once, or VIP_DEFEND_MS after the last such. In the first
 * VIP_SETTLE_MS it is the leader before, who has not noticed yet; later it is a conflict:
 * logged and counted. Hosts that have it in silence are found by asking, when the
 * VIP_SETTLE_MS are over and then with each announcement. Not earlier: the leader before would
 * answer, and of IPv6 its answer goes to everybody and overrides the announcement that this
 * host has just made.
 *
 * The successor is whoever is heard in LEAVING, but for a host in conflict: one that insists
 * would end make before break. Who was heard before is none, for this node led then.
 *
 * Of several addresses each one leaves when it is heard itself. Were one enough for all, a lost
 * announcement of the other would leave its clients with nobody; so they have the old leader
 * for a second at most, which serves each of them once more and lets it go.
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
#define VIP_CONFLICT_MS       20000 /* for so long after it was heard last it counts as one */

enum vip_state { VIP_AWAY, VIP_HELD, VIP_LEAVING };

/* What became of putting an address on the interface. */
enum vip_put {
    VIP_PUT_ADDED,   /* it was not there */
    VIP_PUT_RENEWED, /* it was, put by a node: its lifetime is new now */
    VIP_PUT_FAILED
};

/* The network, as the machine uses it: net.h; in tests a fake. What is not there is
 * removed, announced and asked for without harm. */
struct vip_ops {
    /* `why` is for people, valid until the next call, and set where it FAILED. */
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
    /* May this node have the address at this very moment? Its lease lasts, and it leads, or has
     * not given the lead away yet (ha_may_hold): false from then on, or LEAVING does not end.
     */
    bool (*may_hold)(void *arg);
    /* It came into this state: the last statement of what changed it. In VIP_HELD the address
     * is there, or vip_why() says why not. */
    void (*on_state)(void *arg, enum vip_state state);
    void *arg;
};

/* Counters since start; each address counts. */
struct vip_stats {
    uint64_t taken;         /* all together count once */
    uint64_t restored;      /* it was gone, and was put back */
    uint64_t announcements; /* all packets of one count once */
    uint64_t conflicts;     /* another host was heard to have it: once per VIP_DEFEND_MS */
    uint64_t failures;      /* of putting it, each attempt */
};

struct vip;

/* Never NULL. The options are copied. */
struct vip *vip_new(const struct vip_options *options);
void vip_free(struct vip *v);      /* removes it first, without on_state; NULL is fine */
void vip_take(struct vip *v);      /* this node leads; HELD: what is not there is tried again */
void vip_hand_over(struct vip *v); /* another one is to lead; not HELD: nothing happens */
void vip_drop(struct vip *v);      /* at once; harmless twice */

/* vip_ops' network has heard that the host `mac` (text) has the address. */
void vip_heard(struct vip *v, const struct vip_address *a, const char *mac);
enum vip_state vip_state(const struct vip *v);
const char *vip_state_word(enum vip_state state); /* "away", "held", "leaving" */
const struct vip_stats *vip_stats(const struct vip *v);

/* Are all addresses on this host, as far as is known? */
bool vip_is_here(const struct vip *v);

/* Why they are not although the state is HELD; "": they are. Valid until the loop turns. */
const char *vip_why(const struct vip *v);

/* The host that was last in conflict, within the last VIP_CONFLICT_MS; "": none. */
const char *vip_conflict(const struct vip *v);

#endif
