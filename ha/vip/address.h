/* A virtual address: IPv4 or IPv6, always of one host (/32, /128), so without a prefix. Pure.
 */
#ifndef DUEQ_HA_VIP_ADDRESS_H
#define DUEQ_HA_VIP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>

#include "base/status.h"

struct sockaddr;

#define VIP_ADDRESSES_MAX 4

struct vip_address {
    int family;              /* AF_INET or AF_INET6 */
    unsigned char bytes[16]; /* network order; of IPv4 the first 4 */
    char text[INET6_ADDRSTRLEN];
};

struct vip_addresses {
    struct vip_address at[VIP_ADDRESSES_MAX];
    size_t count; /* 0: there is no virtual address */
};

/* Parses "10.0.0.100" or "10.0.0.100,fd00::100". BAD_REQUEST, `to` untouched: no such list, an
 * address that is there twice, or one that no interface of a cluster can have (loopback,
 * multicast, 0.0.0.0, link-local). */
enum status vip_addresses_parse(struct vip_addresses *to, const char *text) MUST_CHECK;

/* Length in bytes: 4 or 16. */
size_t vip_address_len(const struct vip_address *a);

/* Is the address in the list? Takes IPv4 from an IPv6 socket (::ffff:10.0.0.100), too. */
bool vip_addresses_have(const struct vip_addresses *these, const struct sockaddr *address);

#endif
