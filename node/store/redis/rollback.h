/* Has this Redis rolled back: has it lost writes that it had acknowledged? The question to a
 * bucket that comes to a lane (route.h), and what its answer says (doc/redis.md).
 *
 * Each bucket is asked two things: is the counter at least the highest that was seen; and is
 * this node's last done push in the ring, or which pushes before it are not. The first node in
 * an incarnation of Redis (durability.h) also raises the counter well above all that can have
 * been seen, fallen or not; later the counter is raised only where it has fallen. The findings
 * of buckets that are asked together are told once, even where a lost connection divides the
 * answers.
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
    unsigned buckets;     /* whose counter or ledger had fallen back; 0: nothing is found */
    int64_t fallen_by;    /* the most of any counter; it counts ids and stamps, so about as many
                           * events */
    unsigned lost_pushes; /* of this node's last acknowledged ones: gone for certain */
    bool may_be_more; /* all that are remembered of a bucket are lost, and there were others */
};

/* The question, to a Redis in this incarnation. */
void redis_rollback_ask(const struct redis_marks *marks, struct script_call *call,
                        const struct script_keys *keys, unsigned bucket,
                        const struct redis_incarnation *incarnation);

/* Notes the question's answer in the marks. False: the reply is no such answer. */
bool redis_rollback_take(struct redis_marks *marks, unsigned bucket,
                         const struct redis_incarnation *incarnation,
                         const struct redisReply *reply);

/* For the log. */
void redis_rollback_describe(const struct redis_rollback *r, char *text, size_t size);

/* What this node has seen of each bucket, at whichever Redis: the highest counter, the node's
 * last pushes, and the incarnation of Redis (durability.h) they were last compared in. The
 * store's, for its life; lanes come and go.
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
void redis_marks_free(struct redis_marks *m); /* NULL is fine */

/* Remembers the highest counter seen in a bucket's answers. */
static inline void redis_marks_saw(struct redis_marks *m, unsigned bucket, int64_t counter)
{
    if (counter > m->seen[bucket])
        m->seen[bucket] = counter;
}

#endif
