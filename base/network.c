#include "base/network.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_BITS    32
#define V6_BITS    128
#define FRONT_BITS (V6_BITS - V4_BITS) /* of ::ffff:0:0/96 */

/* `is_v4`: it is written as one of IPv4. */
static bool read_address(struct bytes text, struct in6_addr *address, bool *is_v4)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

    if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.at, '\0', text.len))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    *is_v4 = inet_pton(AF_INET, copy, &a.s6_addr[FRONT_BITS / 8]) == 1;
    if (!*is_v4 && inet_pton(AF_INET6, copy, &a) != 1)
        return false;
    *address = a;
    return true;
}

bool address_read(struct bytes text, struct in6_addr *address)
{
    bool is_v4;

    return read_address(text, address, &is_v4);
}

static bool has_prefix(const struct in6_addr *address, const struct network *network)
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;

    if (memcmp(address, &network->address, whole) != 0)
        return false;
    return !rest ||
           (address->s6_addr[whole] ^ network->address.s6_addr[whole]) >> (8 - rest) == 0;
}

static bool is_zero_behind(const struct network *network)
{
    for (unsigned bit = network->bits; bit < V6_BITS; bit++)
        if (network->address.s6_addr[bit / 8] & 0x80 >> bit % 8)
            return false;
    return true;
}

static bool read_network(struct bytes text, struct network *network)
{
    bool has_bits = text.len && memchr(text.at, '/', text.len), is_v4;
    struct bytes address = bytes_cut(&text, '/');
    int64_t bits;

    if (!read_address(address, &network->address, &is_v4))
        return false;
    bits = is_v4 ? V4_BITS : V6_BITS;
    if (has_bits && (text.len > 3 || (text.len > 1 && text.at[0] == '0') ||
                     !bytes_take_digits(&text, &bits) || text.len))
        return false;
    if (bits > (is_v4 ? V4_BITS : V6_BITS))
        return false;
    network->bits = (unsigned)bits + (is_v4 ? FRONT_BITS : 0);
    return is_zero_behind(network);
}

bool networks_read(struct bytes text, struct networks *networks)
{
    bool is_cut = text.len && text.at[text.len - 1] == ',';

    networks->count = 0;
    while (text.len) {
        if (networks->count == NETWORKS_MAX ||
            !read_network(bytes_cut(&text, ','), &networks->at[networks->count++]))
            return false;
    }
    return !is_cut;
}

bool networks_have(const struct networks *networks, const struct in6_addr *address)
{
    for (unsigned i = 0; i < networks->count; i++)
        if (has_prefix(address, &networks->at[i]))
            return true;
    return false;
}
