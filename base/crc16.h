/* CRC-16/XMODEM (polynomial 0x1021, initial value 0), the one Redis Cluster hashes keys with.
 */
#ifndef DUEQ_BASE_CRC16_H
#define DUEQ_BASE_CRC16_H

#include <stdint.h>

#include "base/bytes.h"

/* Four bits at a time: the table is the CRC of each high nibble. */
static inline uint16_t crc16(struct bytes bytes)
{
    static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
                                       0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
                                       0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint16_t crc = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        uint8_t byte = (uint8_t)bytes.at[i];

        crc = (uint16_t)(crc << 4) ^ table[(crc >> 12) ^ (byte >> 4)];
        crc = (uint16_t)(crc << 4) ^ table[(crc >> 12) ^ (byte & 15)];
    }
    return crc;
}

#endif
