/* A number of seconds as gmq's clients send it, in JSON or in a string. Pure.
 *
 *   "", soon, 12s, 0x10, inf   no number: 0, as in gmq
 *   5, " 5 ", +5, 5.0, 5e0     5
 *   -1, -0.5                   refused: negative
 *   1.5                        refused: not whole
 *   1e30, 99999999999          refused: above the limit
 */
#ifndef DUEQ_PROTOCOL_GMQ_SECONDS_H
#define DUEQ_PROTOCOL_GMQ_SECONDS_H

#include <stdint.h>

#include "base/bytes.h"

enum gmq_seconds {
    GMQ_SECONDS_OK,
    GMQ_SECONDS_NEGATIVE,
    GMQ_SECONDS_NOT_WHOLE,
    GMQ_SECONDS_LARGE,
};

/* `ms` is untouched unless OK. */
enum gmq_seconds gmq_seconds_read(struct bytes text, int64_t max_ms, int64_t *ms);

#endif
