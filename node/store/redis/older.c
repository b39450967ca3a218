#include "node/store/redis/older.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#include "base/log.h"
#include "node/store/redis/handshake_private.h"
#include "node/store/redis/reply.h"

void handshake_ask_raise(struct redis_handshake *h)
{
    struct script_call call;

    for (unsigned bucket = 0; bucket < h->options.keys.buckets; bucket++) {
        if (h->seen[bucket] == 0)
            continue;
        script_encode_raise(&call, &h->options.keys, bucket, h->seen[bucket]);
        handshake_send_script(h, bucket, &call);
    }
}

bool handshake_take_raise(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    int64_t fallen_by;

    char what_failed[64];

    if (!reply_read_numbers(reply, &fallen_by, 1)) {
        snprintf(what_failed, sizeof(what_failed), "the counter of bucket %u cannot be raised",
                 what);
        handshake_refuse_answer(h, what_failed, reply);
        return false;
    }
    if (fallen_by > 0)
        LOG_ERROR("redis",
                  "this Redis came back older: the counter of bucket %u had fallen by %lld; "
                  "jobs that were acknowledged in between may be lost",
                  what, (long long)fallen_by);
    return true;
}
