/* Times as people write and read them: spans, moments, and the backoff of a job. Pure. */
#ifndef DUEQ_NODE_CTL_TIMES_H
#define DUEQ_NODE_CTL_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Spans of time as people write and read them. Pure.
 *
 * Written: digits and a unit (ms, s, m, h, d), several from large to small: "30m", "1h30m",
 * "500ms"; "0" needs no unit. A number alone is refused otherwise: "10" is too easy to misread.
 * Shown: at most two units, "3m 12s", cut off rather than rounded up.
 */

/* False, and *ms as it was, when the text is no duration or does not fit. */
bool duration_parse(const char *text, int64_t *ms);

/* A negative one gets a minus sign. */
void duration_print(struct buf *to, int64_t ms);

/* To the millisecond, as duration_parse() reads it back: "1m30s". Not negative. */
void duration_write(struct buf *to, int64_t ms);

/* Points in time as people write and read them: milliseconds since 1970 (UTC) inside.
 *
 * Written: "2026-12-01 09:00", with seconds and a fraction if wanted, "T" for the blank, and
 * behind it "Z" or "+02:00" for a zone other than the local one (RFC 3339); or the
 * milliseconds themselves. Shown in local time, "2026-12-01 09:00:00.000".
 */

/* False, and *ms as it was, when the text is no time, or one that the calendar or the local
 * clock does not have. Milliseconds before 2001 are refused: they are seconds, most likely. */
bool moment_parse(const char *text, int64_t *ms);

/* Is it refused because it looks like seconds since 1970? */
bool moment_is_in_seconds(const char *text);
void moment_print(struct buf *to, int64_t ms);

/* How a job rests between its tries, in one word as people write and read it. Pure.
 *
 *   none
 *   fixed:30s              the same rest each time
 *   exponential:1s         1s, 2s, 4s, and so on
 *   exponential:1s..5m     up to 5m
 *   fixed:30s~10%          each rest up to so much longer or shorter, by chance
 */

#define BACKOFF_MAX_MS INT64_C(2592000000) /* 30 days: base and cap */

struct backoff {
    const char *kind; /* the API's word; static, when it was parsed */
    int64_t base_ms;  /* 0: with none */
    int64_t cap_ms;   /* 0: not given */
    int64_t jitter_percent;
};

/* False, and `b` as it was, when the text is none of these. */
bool backoff_parse(const char *text, struct backoff *b);

/* So that backoff_parse() reads it back. */
void backoff_print(struct buf *to, const struct backoff *b);

#endif
