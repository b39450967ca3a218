/* The outputs of each verb, from its answer. For reply.c only.
 *
 * False: the answer is not of the verb's form, and the op's outputs are as they were.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLY_OUTPUTS_H
#define DUEQ_NODE_STORE_REDIS_REPLY_OUTPUTS_H

#include <stdbool.h>

#include "node/store/redis/wire/reply.h"

#define REPLY_HEAD 3 /* code, now, wait */

/* The outputs of a script that ended well: all behind the head of its answer. */
bool take_outputs(const struct redisReply *reply, struct op *op, struct reply_room *room);

/* Of a SCAN over all keys: the topics they name. */
bool take_places(const struct redisReply *reply, struct op *op, struct reply_room *room);

#endif
