/* The packets by which hosts of a network tell and ask who has an address: ARP (RFC 826, 5227)
 * and neighbour discovery (RFC 4861). Bytes to facts and back; pure.
 *
 * All are whole Ethernet frames.
 */
#ifndef DUEQ_HA_VIP_PACKET_H
#define DUEQ_HA_VIP_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "ha/vip/address.h"

#define VIP_FRAME_MAX 96

struct vip_frame {
    unsigned char bytes[VIP_FRAME_MAX];
    size_t len;
};

/* "We have it": to everybody. ARP in both forms, for neighbours heed one or the other; of IPv6
 * an unsolicited advertisement with the override flag. Returns how many frames: 1 or 2. */
unsigned vip_packet_announce(const struct vip_address *a, const unsigned char mac[6],
                             struct vip_frame frames[2]);

/* "Who has it?", asked without changing what anybody believes: an ARP probe, or a neighbour
 * solicitation from the unspecified address. An ARP answer comes back alone; an advertisement
 * goes to everybody. */
void vip_packet_probe(const struct vip_address *a, const unsigned char mac[6],
                      struct vip_frame *frame);

/* Does the frame say that another host than `own_mac` has the address? True: `mac` is that
 * one's. False: it does not, or is not well-formed. */
bool vip_packet_read(struct bytes frame, const struct vip_address *a,
                     const unsigned char own_mac[6], unsigned char mac[6]);

#endif
