/* The packets by which hosts of a network tell and ask who has an address: ARP (RFC 826, 5227)
 * and neighbour discovery (RFC 4861), as whole Ethernet frames. The codec is pure.
 */
#ifndef DUEQ_HA_VIP_PACKET_H
#define DUEQ_HA_VIP_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/loop.h"
#include "base/status.h"
#include "ha/vip/address.h"
#include "ha/vip/link.h"

#define VIP_FRAME_MAX 96

struct vip_frame {
    unsigned char bytes[VIP_FRAME_MAX];
    size_t len;
};

/* "We have it", to everybody. IPv4: ARP in both forms, because neighbours heed one or the
 * other; IPv6: an unsolicited advertisement with the override flag. Returns the number of
 * frames: 2 or 1. */
unsigned vip_packet_announce(const struct vip_address *a, const unsigned char mac[6],
                             struct vip_frame frames[2]);

/* "Who has it?", a question that changes no neighbour's cache: an ARP probe, or a neighbour
 * solicitation from the unspecified address. An ARP answer comes to this host only; an
 * advertisement goes to everybody. */
void vip_packet_probe(const struct vip_address *a, const unsigned char mac[6],
                      struct vip_frame *frame);

/* Does the frame say that another host than `own_mac` has the address? True: `mac` is that
 * host. False: no, or a malformed frame. */
bool vip_packet_read(struct bytes frame, const struct vip_address *a,
                     const unsigned char own_mac[6], unsigned char mac[6]);

/* Sends and hears these frames for one address: a packet socket, with a filter in the kernel so
 * that only frames about this very address wake the process.
 *
 * The socket is made once and bound again when the interface changes: making a socket takes
 * CAP_NET_RAW, binding it does not.
 *
 * The warden has no loop: it polls vip_arp_nd_fd(), and calls vip_arp_nd_read().
 */

struct vip_arp_nd;

/* `a` is borrowed. `on_heard` says that the host `mac` (text) has the address; it comes from
 * the loop, or without a loop (NULL) from vip_arp_nd_read(). Hears nothing before
 * vip_arp_nd_bind(). NULL, with errno: no packet socket. */
struct vip_arp_nd *vip_arp_nd_new(struct loop *loop, const struct vip_address *a,
                                  void (*on_heard)(void *arg, const struct vip_address *a,
                                                   const char *mac),
                                  void *arg);
void vip_arp_nd_free(struct vip_arp_nd *arp_nd); /* NULL is fine */
int vip_arp_nd_fd(const struct vip_arp_nd *arp_nd);
void vip_arp_nd_read(struct vip_arp_nd *arp_nd); /* all frames that have come */

/* Sends and hears on this interface from now on. IO_ERROR with errno: on none. */
enum status vip_arp_nd_bind(struct vip_arp_nd *arp_nd,
                            const struct vip_interface *on) MUST_CHECK;

/* Send without blocking; nothing happens while not bound. A failure is logged once, until a
 * frame goes out again. */
void vip_arp_nd_announce(struct vip_arp_nd *arp_nd);
void vip_arp_nd_probe(struct vip_arp_nd *arp_nd);

#endif
