/* Has this Redis come back older than it was? What is asked of a bucket that comes to a lane
 * (route.h), and what its answer says (doc/redis.md).
 *
 * Of each bucket it asks two things: was the counter at least what was seen, and is the last
 * push of ours that has happened in the ring, or which of those before it are not. Whoever
 * comes first in a life of Redis (info.h) also raises the counter well above all that can have
 * been seen, fallen or not; later it is raised only where it has fallen. What comes of buckets
 * that are asked together is told once; also where the connection was lost before all had
 * answered, and the next one brings the rest.
 */
#ifndef DUEQ_NODE_STORE_REDIS_OLDER_H
#define DUEQ_NODE_STORE_REDIS_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
