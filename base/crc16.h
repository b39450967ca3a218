/* CRC-16/XMODEM (polynomial 0x1021, initial value 0), the one Redis Cluster hashes keys with.
 */
#ifndef DUEQ_BASE_CRC16_H
#define DUEQ_BASE_CRC16_H

#include <stdint.h>

#include "base/bytes.h"

uint16_t crc16(struct bytes bytes);

#endif
