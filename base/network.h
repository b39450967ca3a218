/* Networks of IP addresses: "10.0.0.0/8", "fd00::/8", or one address. Pure.
 *
 * An address is one of IPv6; that of IPv4 is ::ffff:10.0.0.1.
 */
#ifndef DUEQ_BASE_NETWORK_H
#define DUEQ_BASE_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/bytes.h"

#define NETWORKS_MAX 64

struct network {
    struct in6_addr address; /* zero behind the prefix */
    unsigned bits;           /* of the prefix, counted as of IPv6 */
};

struct networks {
    unsigned count;
    struct network at[NETWORKS_MAX];
};

/* An address as it is commonly written, of IPv6 without brackets or a zone. */
bool address_read(struct bytes text, struct in6_addr *address);

/* With commas between, or none. False, and `networks` has no meaning: one is malformed, has
 * bits behind its prefix, or there are more than NETWORKS_MAX. */
bool networks_read(struct bytes text, struct networks *networks);

bool networks_have(const struct networks *networks, const struct in6_addr *address);

#endif
