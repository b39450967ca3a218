/* Any frame, heard for an address of each family: a hardware address that is found must be one
 * of another host. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ha/vip/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char own_mac[6] = {2, 0, 0, 0, 0, 0xb}, zeros[6];
    struct bytes frame = bytes_of((const char *)data, size);
    struct vip_addresses both;
    unsigned char mac[6];

    if (vip_addresses_parse(&both, "10.9.0.100,fd09::64") != STATUS_OK)
        abort();
    for (size_t i = 0; i < both.count; i++) {
        if (vip_packet_read(frame, &both.at[i], own_mac, mac) &&
            (mac[0] & 1 || !memcmp(mac, zeros, 6) || !memcmp(mac, own_mac, 6)))
            abort();
    }
    return 0;
}
