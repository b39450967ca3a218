/* Spans of time as people write and read them. Pure.
 *
 * Written: digits and a unit (ms, s, m, h, d), several from large to small: "30m", "1h30m",
 * "500ms"; "0" needs no unit. A number alone is refused otherwise: "10" is too easy to misread.
 * Shown: at most two units, "3m 12s", cut off rather than rounded up.
 */
#ifndef DUEQ_NODE_CTL_DURATION_H
#define DUEQ_NODE_CTL_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* False, and *ms as it was, when the text is no duration or does not fit. */
bool duration_parse(const char *text, int64_t *ms);

/* A negative one gets a minus sign. */
void duration_print(struct buf *to, int64_t ms);

/* To the millisecond, as duration_parse() reads it back: "1m30s". Not negative. */
void duration_write(struct buf *to, int64_t ms);

#endif
