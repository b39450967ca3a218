/* How a job rests between its tries, in one word as people write and read it. Pure.
 *
 *   none
 *   fixed:30s              the same rest each time
 *   exponential:1s         1s, 2s, 4s, and so on
 *   exponential:1s..5m     up to 5m
 *   fixed:30s~10%          each rest up to so much longer or shorter, by chance
 */
#ifndef DUEQ_NODE_CTL_BACKOFF_H
#define DUEQ_NODE_CTL_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

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
