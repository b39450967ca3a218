#include "node/store/redis/again.h"

#include <assert.h>

bool redis_may_say_again(enum op_verb verb)
{
    static const bool may[OP_COUNT] = {
        /* They only look. */
        [OP_GET] = true,
        [OP_LIST] = true,
        [OP_STATS] = true,
        [OP_OWNER] = true,
        [OP_TOPICS] = true,
        [OP_SETTINGS] = true,
        [OP_TRACE] = true,
        [OP_PLACES] = true,
        /* A reservation that no consumer has heard of ends by itself and counts no try. */
        [OP_POP] = true,
        /* They do nothing to a lease that is not valid any more, and the same to one that is.
         */
        [OP_DELIVERED] = true,
        [OP_KEEP] = true,
        [OP_RETURN] = true,
        [OP_TOUCH] = true,
        /* A lease is valid once; see below. */
        [OP_ACK] = true,
        /* It is in the ledger (push_ledger.h), or it has not happened. */
        [OP_PUSH] = true,
    };

    assert(verb < OP_COUNT);
    return may[verb];
}

/* The job is gone: this consumer alone could acknowledge it, and nobody else wants it. Where
 * its id lives it may have begun a new life since. */
static enum status acked_again(enum status status)
{
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status == STATUS_NOT_OWNER || status == STATUS_NOT_RESERVED)
        return STATUS_UNKNOWN;
    return status;
}

enum status redis_said_again(enum op_verb verb, enum status status)
{
    return verb == OP_ACK ? acked_again(status) : status;
}
