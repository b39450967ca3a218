/* What can be said to Redis again, when its answer is lost, and what the second answer means
 * (doc/redis.md). Pure.
 */
#ifndef DUEQ_NODE_STORE_REDIS_AGAIN_H
#define DUEQ_NODE_STORE_REDIS_AGAIN_H

#include <stdbool.h>

#include "node/store/op.h"

/* May an operation that may have run be sent once more? What a leader alone may do is left to
 * whoever sent it, which is asked again whether it may. */
bool redis_may_say_again(enum op_verb verb);

/* Of an answer to what has perhaps run before: what it means for the first time. */
enum status redis_said_again(enum op_verb verb, enum status status);

#endif
