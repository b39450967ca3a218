/* The virtual address: clients know one, and it is where the leader is. This is the state machine;
 * it does no I/O, and knows the time from its timers alone.
 *
 *             vip_take()                    vip_hand_over()
 *     AWAY ----------------> HELD ------------------------------> LEAVING
 *      ^                      | ^                                  |  |
 *      |      vip_drop(), or  | |            vip_take()            |  |
 *      |   may_hold() is false| +----------------------------------+  |
 *      |<---------------------+                                       |
 *      |       a successor was heard; VIP_LEAVING_MAX_MS; vip_drop()  |
 *      +<-------------------------------------------------------------+
 *
 *   AWAY     this host does not have it
 *   HELD     it has been put on the interface, or that is tried again with each renewal; it is
 *            announced, and what others say of it is listened to
 *   LEAVING  the lead was given away in order. The address stays until the successor was heard to
 *            have it, so that there is no moment without one: make before break. It is neither
 *            renewed nor announced, and its lifetime ends it where this process cannot
 *
 * The address has a lifetime of VIP_LIFETIME_S and is given a new one every VIP_RENEW_MS, so that
 * the kernel takes it from a process that is frozen. Before each renewal may_hold() is asked,
 * because one that comes after a freeze would put the address back that another node has by then.
 * A renewal that finds the address gone puts it back, and announces it anew: somebody has removed
 * it by hand, or the interface was away.
 *
 * Announced at VIP_ANNOUNCE_AT_MS after it was taken, and every VIP_ANNOUNCE_EVERY_MS from then on:
 * neighbours keep what they have heard last. Before it is taken a probe asks who else has it;
 * nobody waits for an answer. Whoever is heard to have it in the first VIP_SETTLE_MS is the leader
 * before, who has not noticed yet; later it is a conflict: logged, counted, and answered with an
 * announcement, once per VIP_DEFEND_MS.
 */
#ifndef DUEQ_HA_VIP_H
#define DUEQ_HA_VIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/vip_address.h"

#define VIP_LIFETIME_S        1
#define VIP_RENEW_MS          300
#define VIP_LEAVING_MAX_MS    1000
#define VIP_ANNOUNCE_EVERY_MS 10000
#define VIP_SETTLE_MS         2000
#define VIP_DEFEND_MS         1000
#define VIP_MAC_TEXT_MAX      17 /* "02:42:ac:1e:00:0b" */

enum vip_state { VIP_AWAY, VIP_HELD, VIP_LEAVING };

/* What became of putting an address on the interface. */
enum vip_put {
    VIP_PUT_ADDED,   /* it was not there */
    VIP_PUT_RENEWED, /* it was, with a lifetime: that is new now */
    VIP_PUT_FAILED
};

/* The network, as the machine uses it: vip_net.h; in tests a fake. */
struct vip_ops {
    /* `why` is for people, valid until the next call, and set where it FAILED. */
    enum vip_put (*put)(void *arg, const struct vip_address *a, const char **why);
    void (*remove)(void *arg, const struct vip_address *a); /* harmless where it is not there */
    void (*announce)(void *arg, const struct vip_address *a);
    void (*probe)(void *arg, const struct vip_address *a);
};

struct vip_options {
    struct vip_addresses addresses;
    const struct vip_ops *ops;
    void *ops_arg;
    struct timers *timers; /* borrowed */
    /* May this node have the address at this very moment? Asked before it is taken and before each
     * renewal. */
    bool (*may_hold)(void *arg);
    /* It came into this state: the last statement of what changed it. In VIP_HELD the address is
     * there, or vip_why() says why not. */
    void (*on_state)(void *arg, enum vip_state state);
    void *arg;
};

/* Counters since start. */
struct vip_stats {
    uint64_t taken;
    uint64_t restored;      /* it was gone, and was put back */
    uint64_t announcements; /* packets of each address count once */
    uint64_t conflicts;     /* another host was heard to have it while it was held, see above */
    uint64_t failures;      /* of putting it */
};

struct vip;

/* Never NULL. The options are copied. */
struct vip *vip_new(const struct vip_options *options);
void vip_free(struct vip *v); /* drops it first; NULL is fine */

void vip_take(struct vip *v);      /* this node leads; harmless twice */
void vip_hand_over(struct vip *v); /* another one is to lead; AWAY: nothing happens */
void vip_drop(struct vip *v);      /* at once; harmless twice */

/* vip_ops' network has heard that the host `mac` (text) has the address. `is_announced`: it said so
 * unasked, as who has just taken it does; else it answered. */
void vip_heard(struct vip *v, const struct vip_address *a, const char *mac, bool is_announced);

enum vip_state vip_state(const struct vip *v);
const struct vip_stats *vip_stats(const struct vip *v);

/* Why the address is not there although the state is HELD; "": it is. Valid until the loop turns. */
const char *vip_why(const struct vip *v);

/* The host that was last in conflict, within the last VIP_ANNOUNCE_EVERY_MS * 2; "": none. */
const char *vip_conflict(const struct vip *v);

#endif
