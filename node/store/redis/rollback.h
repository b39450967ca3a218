/* Has this Redis come back older than it was? What is asked of a bucket that comes to a lane
 * (route.h), and what its answer says (doc/redis.md).
 *
 * Of each bucket it asks two things: was the counter at least what was seen, and is the last
 * push of ours that has happened in the ring, or which of those before it are not. Whoever
 * comes first in a life of Redis (durability.h) also raises the counter well above all that can
 * have been seen, fallen or not; later it is raised only where it has fallen. What comes of
 * buckets that are asked together is told once; also where the connection was lost before all
 * had answered, and the next one brings the rest.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ROLLBACK_H
#define DUEQ_NODE_STORE_REDIS_ROLLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/store/redis/durability.h"
#include "node/store/redis/push_ledger.h"

struct redisReply;
struct redis_life;
struct redis_past;
struct script_call;
struct script_keys;

struct redis_older {
    unsigned buckets;  /* whose counter, or ledger, had fallen back */
    int64_t fallen_by; /* the counter that had most; ids and stamps, so about as many events */
    unsigned lost_pushes; /* of this node's last acknowledged ones: gone for certain */
    bool may_be_more;     /* all that are remembered of a bucket are, and there were others */
};

/* Is there anything to tell? */
static inline bool redis_older_is_found(const struct redis_older *o)
{
    return o->buckets > 0;
}

/* The question, to a Redis in this life. */
void redis_older_ask(const struct redis_past *past, struct script_call *call,
                     const struct script_keys *keys, unsigned bucket,
                     const struct redis_life *life);

/* Its answer, noted in the past. False: it is none. */
bool redis_older_take(struct redis_past *past, unsigned bucket, const struct redis_life *life,
                      const struct redisReply *reply);

/* For the log. */
void redis_older_describe(const struct redis_older *o, char *text, size_t size);

/* What this node has seen of each bucket, whichever Redis it was in: the highest counter, its
 * own last pushes, and the life of Redis (durability.h) in which it was last compared with that
 * (rollback.h). The store's, for its life; lanes come and go.
 */

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
