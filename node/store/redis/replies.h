/* The memory of a link's answers.
 *
 * hiredis by itself allocates each element of an answer twice, and frees them one by one. But
 * there is never more than one answer at a time: it is read, given to its callback and freed
 * before the next one is begun. So all of it lies in one block, which is used again.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLIES_H
#define DUEQ_NODE_STORE_REDIS_REPLIES_H

struct redisReader;
struct redis_replies;

struct redis_replies *redis_replies_new(void);
void redis_replies_free(struct redis_replies *r); /* NULL is fine */

/* What this reader makes is made here. For one reader at a time, which goes first. */
void redis_replies_attach(struct redis_replies *r, struct redisReader *reader);

#endif
