/* Whole numbers in a few bytes, the highest first, as jobs, rules, settings and the history
 * keep them.
 */
#ifndef DUEQ_NODE_STORE_PACKED_H
#define DUEQ_NODE_STORE_PACKED_H

#include <stdint.h>

/* The low `bytes` (1 to 8) of `value`. */
static inline void packed_put(char *to, unsigned bytes, int64_t value)
{
    while (bytes-- > 0) {
        to[bytes] = (char)(uint8_t)value;
        value = (int64_t)((uint64_t)value >> 8);
    }
}

/* `bytes` is at most 7, so the value is never negative. */
static inline int64_t packed_get(const char *from, unsigned bytes)
{
    int64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (uint8_t)from[i];
    return value;
}

#endif
