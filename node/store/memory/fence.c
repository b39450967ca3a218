#include "node/store/memory/fence.h"

#include <assert.h>
#include <string.h>

#define ENSEMBLE_LEN 33 /* its digits, and what is behind them */

static struct bytes ensemble_of(struct bytes token)
{
    return bytes_of(token.at, token.len < ENSEMBLE_LEN ? token.len : ENSEMBLE_LEN);
}

static bool is_outdated(struct bytes token, struct bytes seen)
{
    return token.len == 0 ||
           (seen.len > 0 && (!bytes_equal(ensemble_of(token), ensemble_of(seen)) ||
                             bytes_compare(token, seen) < 0));
}

enum status memory_fence(struct call *c)
{
    struct bucket *bucket = c->bucket;
    struct bytes token = c->op->token, seen = bytes_of(bucket->token, bucket->token_len);

    if (bytes_equal(token, seen))
        return STATUS_OK;
    if (is_outdated(token, seen)) {
        c->op->out.fenced.seen = room_copy(c->room, seen);
        return STATUS_FENCED;
    }
    assert(token.len <= sizeof(bucket->token));
    memcpy(bucket->token, token.at, token.len);
    bucket->token_len = token.len;
    return STATUS_OK;
}

enum status memory_run_fence(struct call *c)
{
    struct bytes seen = bytes_of(c->bucket->token, c->bucket->token_len);

    if (c->op->in.fence.adopts && !bytes_equal(ensemble_of(c->op->token), ensemble_of(seen)))
        c->bucket->token_len = 0;
    return memory_fence(c);
}
