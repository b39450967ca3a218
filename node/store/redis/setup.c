/* What Redis is, and whether it is set up to keep what it is given. */
#include "node/store/redis/handshake_private.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/info.h"

void handshake_ask_info(struct redis_handshake *h)
{
    const char *argv[] = {"INFO"};

    handshake_send(h, 0, 1, argv);
}

bool handshake_take_info(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    struct redis_info info;

    if (reply->type != REDIS_REPLY_STRING) {
        handshake_refuse_answer(h, "Redis does not answer INFO", reply);
        return false;
    }
    info = redis_info_read(bytes_of(reply->str, reply->len));
    h->life = info.life;
    if (info.is_loading || info.is_replica) {
        handshake_come_back_later(h, info.is_loading
                                         ? "Redis is loading its data"
                                         : "this Redis is a replica; waiting for a master");
        return false;
    }
    if (info.version < REDIS_VERSION_MIN) {
        handshake_refuse(h, "Redis %s is too old: 6.2 or newer is needed", info.version_text);
        return false;
    }
    return handshake_accept_setting(
               h, info.has_aof,
               "Redis runs without append-only file: jobs will be lost when it "
               "ends; set 'appendonly yes'") &&
           handshake_accept_setting(h, !info.may_evict,
                                    "Redis may evict jobs when its memory is full; set "
                                    "'maxmemory-policy noeviction'");
}

void handshake_ask_appendfsync(struct redis_handshake *h)
{
    const char *argv[] = {"CONFIG", "GET", "appendfsync"};

    handshake_send(h, 0, 3, argv);
}

bool handshake_take_appendfsync(struct redis_handshake *h, unsigned what,
                                const redisReply *reply)
{
    bool is_known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                    reply->element[1]->type == REDIS_REPLY_STRING;

    /* Hosted Redis often forbids CONFIG. */
    if (!is_known)
        return handshake_accept_setting(
            h, false,
            "Redis does not answer CONFIG GET: cannot tell whether it runs "
            "with 'appendfsync always', and may lose pushes if not");
    return handshake_accept_setting(
        h, !strcmp(reply->element[1]->str, "always"),
        "Redis acknowledges pushes before they are on disk; set 'appendfsync "
        "always' if none may be lost");
}
