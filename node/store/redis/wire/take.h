/* The outputs of each verb, taken from an answer that has the form of an end (decode.h). */
#ifndef DUEQ_NODE_STORE_REDIS_TAKE_H
#define DUEQ_NODE_STORE_REDIS_TAKE_H

#include "node/store/redis/wire/decode.h"

/* The outputs of a script that ended well: all behind the head of its answer. False: the answer
 * is not of the verb's form, and the op's outputs are as they were. */
bool take_outputs(const struct redisReply *reply, struct op *op,
                  struct reply_room *room) MUST_CHECK;

/* The same for one of several that travelled in one call: its outputs begin at element `at`,
 * behind its code, and are so many elements. */
size_t part_outputs(enum op_verb verb);
bool take_part(const struct redisReply *reply, size_t at, struct op *op) MUST_CHECK;

/* Of a SCAN over all keys: the topics they name. */
bool take_places(const struct redisReply *reply, struct op *op,
                 struct reply_room *room) MUST_CHECK;

#endif
