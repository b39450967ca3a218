/* Pauses between attempts: each about twice as long as the one before it, up to a limit, and
 * never quite the same at two nodes.
 */
#ifndef DUEQ_NODE_STORE_REDIS_BACKOFF_H
#define DUEQ_NODE_STORE_REDIS_BACKOFF_H

#include <stdint.h>
#include <stdlib.h>

#define REDIS_BACKOFF_MIN_MS 10

struct redis_backoff {
    int64_t next_ms;
    int64_t max_ms;
};

static inline void redis_backoff_reset(struct redis_backoff *b)
{
    b->next_ms = REDIS_BACKOFF_MIN_MS;
}

static inline int64_t redis_backoff_pause_ms(struct redis_backoff *b)
{
    uint32_t half_ms = (uint32_t)b->next_ms / 2;
    int64_t pause_ms = half_ms + arc4random_uniform(half_ms + 1);

    b->next_ms = b->next_ms * 2 < b->max_ms ? b->next_ms * 2 : b->max_ms;
    return pause_ms;
}

#endif
