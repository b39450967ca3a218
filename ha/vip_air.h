/* Sends and hears vip_packet.h's frames on an interface: packet sockets, with a filter in the
 * kernel so that only ARP and neighbour advertisements wake anybody.
 */
#ifndef DUEQ_HA_VIP_AIR_H
#define DUEQ_HA_VIP_AIR_H

#include "base/loop.h"
#include "base/status.h"
#include "ha/vip_link.h"
#include "ha/vip_packet.h"

struct vip_air;

/* `on_heard` comes from the loop, for addresses of `these` (borrowed). Never NULL. */
struct vip_air *vip_air_new(struct loop *loop, const struct vip_addresses *these,
                            void (*on_heard)(void *arg, const struct vip_address *a,
                                             const char *mac, bool is_announced),
                            void *arg);
void vip_air_free(struct vip_air *air); /* NULL is fine */

/* Listens on this interface from now on, instead of the one before. IO_ERROR with errno. */
enum status vip_air_open(struct vip_air *air, const struct vip_interface *on) MUST_CHECK;
void vip_air_close(struct vip_air *air);

/* Not open: nothing happens. What does not go out is logged once until it does again. */
void vip_air_announce(struct vip_air *air, const struct vip_address *a);
void vip_air_probe(struct vip_air *air, const struct vip_address *a);

#endif
