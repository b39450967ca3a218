/* Sends and hears packet.h's frames for one address: a packet socket, with a filter in the
 * kernel so that only what is said about this very address wakes anybody.
 *
 * The socket is made once and bound again when the interface changes: making one takes
 * CAP_NET_RAW, binding it does not.
 *
 * The warden has no loop: it polls vip_air_fd(), and calls vip_air_read().
 */
#ifndef DUEQ_HA_VIP_AIR_H
#define DUEQ_HA_VIP_AIR_H

#include "base/loop.h"
#include "base/status.h"
#include "ha/vip/link.h"

#define VIP_MAC_TEXT_MAX 17 /* "02:42:ac:1e:00:0b" */

struct vip_air;

/* `a` is borrowed. `on_heard` comes from the loop, or, where that is NULL, from
 * vip_air_read(): the host `mac` (text) has it. NULL, with errno: no packet socket. Hears
 * nothing before it is bound. */
struct vip_air *vip_air_new(struct loop *loop, const struct vip_address *a,
                            void (*on_heard)(void *arg, const struct vip_address *a,
                                             const char *mac),
                            void *arg);
void vip_air_free(struct vip_air *air); /* NULL is fine */

int vip_air_fd(const struct vip_air *air);
void vip_air_read(struct vip_air *air); /* all that has come */

/* From now on on this interface. IO_ERROR with errno: on none. */
enum status vip_air_bind(struct vip_air *air, const struct vip_interface *on) MUST_CHECK;

/* Never block. Not bound: nothing happens. What does not go out is logged, once until it does.
 */
void vip_air_announce(struct vip_air *air);
void vip_air_probe(struct vip_air *air);

#endif
