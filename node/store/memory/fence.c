#include "node/store/memory/fence.h"

#include <assert.h>
#include <string.h>

static bool is_the_same(struct bytes token, struct bytes seen)
{
    return bytes_equal(token, seen) ||
           (token.len == 0 && bytes_equal(seen, BYTES(OP_TOKEN_STANDALONE)));
}

static bool is_outdated(struct bytes token, struct bytes seen)
{
    return token.len == 0 ||
           (seen.len > 0 && (!bytes_equal(op_token_ensemble(token), op_token_ensemble(seen)) ||
                             bytes_compare(token, seen) < 0));
}

static void keep(struct bucket *bucket, struct bytes token)
{
    assert(token.len <= sizeof(bucket->token));
    memcpy(bucket->token, token.at, token.len);
    bucket->token_len = token.len;
}

enum status memory_fence(struct call *c)
{
    struct bucket *bucket = c->bucket;
    struct bytes token = c->op->token, seen = bytes_of(bucket->token, bucket->token_len);

    if (is_the_same(token, seen))
        return STATUS_OK;
    if (is_outdated(token, seen)) {
        c->op->out.fenced.seen = room_copy(c->room, seen);
        return STATUS_FENCED;
    }
    keep(bucket, token);
    return STATUS_OK;
}

enum status memory_run_fence(struct call *c)
{
    struct bytes seen = bytes_of(c->bucket->token, c->bucket->token_len);
    struct bytes mine = c->op->token.len ? c->op->token : BYTES(OP_TOKEN_STANDALONE);

    if (c->op->in.fence.adopts &&
        !bytes_equal(op_token_ensemble(mine), op_token_ensemble(seen)))
        keep(c->bucket, mine);
    return memory_fence(c);
}
