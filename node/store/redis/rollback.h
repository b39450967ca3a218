/* Has this Redis rolled back: has it lost writes that it had acknowledged? What is asked of a
 * bucket that comes to a lane (route.h), and what its answer says (doc/redis.md).
 *
 * Of each bucket it asks two things: was the counter at least what was seen, and is the last
 * push of ours that has happened in the ring, or which of those before it are not. Whoever
 * comes first in an incarnation of Redis (durability.h) also raises the counter well above all
 * that can have been seen, fallen or not; later it is raised only where it has fallen. What
 * comes of buckets that are asked together is told once; also where the connection was lost
 * before all had answered, and the next one brings the rest.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ROLLBACK_H
#define DUEQ_NODE_STORE_REDIS_ROLLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/store/redis/durability.h"
#include "node/store/redis/push_ledger.h"

struct redisReply;
struct redis_incarnation;
struct redis_marks;
struct script_call;
struct script_keys;

struct redis_rollback {
    unsigned buckets;  /* whose counter, or ledger, had fallen back */
    int64_t fallen_by; /* the counter that had most; ids and stamps, so about as many events */
    unsigned lost_pushes; /* of this node's last acknowledged ones: gone for certain */
    bool may_be_more;     /* all that are remembered of a bucket are, and there were others */
};

/* Is there anything to tell? */
static inline bool redis_rollback_is_found(const struct redis_rollback *o)
{
    return o->buckets > 0;
}

/* The question, to a Redis in this incarnation. */
void redis_rollback_ask(const struct redis_marks *marks, struct script_call *call,
                        const struct script_keys *keys, unsigned bucket,
                        const struct redis_incarnation *incarnation);

/* Its answer, noted in the marks. False: it is none. */
bool redis_rollback_take(struct redis_marks *marks, unsigned bucket,
                         const struct redis_incarnation *incarnation,
                         const struct redisReply *reply);

/* For the log. */
void redis_rollback_describe(const struct redis_rollback *o, char *text, size_t size);

/* What this node has seen of each bucket, whichever Redis it was in: the highest counter, its
 * own last pushes, and the incarnation of Redis (durability.h) in which it was last compared
 * with that (rollback.h). The store's, for its life; lanes come and go.
 */

#define REDIS_MARKS_BUCKETS_MAX 128

struct redis_marks {
    struct push_ledger *ledger;
    int64_t seen[REDIS_MARKS_BUCKETS_MAX];                       /* 0: nothing */
    struct redis_incarnation raised_in[REDIS_MARKS_BUCKETS_MAX]; /* "": not yet */
    struct redis_rollback found; /* what was found and is not told yet */
};

/* 1 to REDIS_MARKS_BUCKETS_MAX buckets. */
struct redis_marks *redis_marks_new(unsigned buckets);
void redis_marks_free(struct redis_marks *p); /* NULL is fine */

/* Remembers the highest counter seen in a bucket's answers. */
static inline void redis_marks_saw(struct redis_marks *p, unsigned bucket, int64_t counter)
{
    if (counter > p->seen[bucket])
        p->seen[bucket] = counter;
}

#endif
