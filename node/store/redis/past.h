/* What this node has seen of each bucket, whichever Redis it was in: the highest counter, its
 * own last pushes, and the life of Redis (info.h) in which it was last compared with that
 * (older.h). The store's, for its life; lanes come and go.
 */
#ifndef DUEQ_NODE_STORE_REDIS_PAST_H
#define DUEQ_NODE_STORE_REDIS_PAST_H

#include <stdint.h>

#include "node/store/redis/info.h"
#include "node/store/redis/older.h"
#include "node/store/redis/push_ledger.h"

#define REDIS_PAST_BUCKETS_MAX 128

struct redis_past {
    struct push_ledger *ledger;
    int64_t seen[REDIS_PAST_BUCKETS_MAX];                /* 0: nothing */
    struct redis_life raised_in[REDIS_PAST_BUCKETS_MAX]; /* "": not yet */
    struct redis_older older; /* what was found and is not told yet */
};

/* 1 to REDIS_PAST_BUCKETS_MAX buckets. */
struct redis_past *redis_past_new(unsigned buckets);
void redis_past_free(struct redis_past *p); /* NULL is fine */

/* Remembers the highest counter seen in a bucket's answers. */
static inline void redis_past_saw(struct redis_past *p, unsigned bucket, int64_t counter)
{
    if (counter > p->seen[bucket])
        p->seen[bucket] = counter;
}

#endif
