/* What is ours in it: how the jobs lie, the channel of the wake-ups, the scripts. */
#include "node/store/redis/handshake_private.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/reply.h"

void handshake_ask_meta(struct redis_handshake *h)
{
    struct script_call call;

    if (!h->asks_meta)
        return;
    script_encode_meta(&call, &h->options.keys);
    handshake_send_script(h, 0, &call);
}

bool handshake_take_meta(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    const struct script_keys *keys = &h->options.keys;
    char what_failed[64];
    int64_t found[2];

    if (!reply_read_numbers(reply, found, 2)) {
        snprintf(what_failed, sizeof(what_failed), "%s:meta cannot be read", keys->prefix);
        handshake_refuse_answer(h, what_failed, reply);
        return false;
    }
    if (found[0] > SCRIPT_SCHEMA) {
        handshake_refuse(
            h,
            "the jobs in this Redis were written by a newer dueq (schema %lld, this one "
            "knows %d): install that version, or set another store.prefix",
            (long long)found[0], SCRIPT_SCHEMA);
        return false;
    }
    if (found[0] < SCRIPT_SCHEMA) {
        handshake_refuse(
            h,
            "the jobs in this Redis were written by an older dueq (schema %lld, this one "
            "knows %d): let that version work them off, or set another store.prefix",
            (long long)found[0], SCRIPT_SCHEMA);
        return false;
    }
    if (found[1] != keys->buckets) {
        handshake_refuse(
            h,
            "the jobs in this Redis lie in %lld buckets, but store.buckets is %u: set it to "
            "%lld, or set another store.prefix than '%s'",
            (long long)found[1], keys->buckets, (long long)found[1], keys->prefix);
        return false;
    }
    return true;
}

/* The word is nobody's: no topic begins with '-'. */
void handshake_ask_channel(struct redis_handshake *h)
{
    char channel[SCRIPT_PREFIX_MAX + 8];
    const char *argv[] = {"PUBLISH", channel, "-"};

    snprintf(channel, sizeof(channel), "%s:ready", h->options.keys.prefix);
    handshake_send(h, 0, 3, argv);
}

bool handshake_take_channel(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return true;
    handshake_refuse_answer(h, "Redis does not publish what becomes ready", reply);
    return false;
}

void handshake_ask_scripts(struct redis_handshake *h)
{
    for (unsigned verb = 0; verb < OP_COUNT; verb++) {
        const char *argv[] = {"SCRIPT", "LOAD", script_text((enum op_verb)verb)};

        if (argv[2])
            handshake_send(h, verb, 3, argv);
    }
}

bool handshake_take_script(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    char what_failed[64];

    if (reply->type == REDIS_REPLY_STRING && reply->len == SCRIPT_SHA_CHARS) {
        memcpy(h->shas[what], reply->str, SCRIPT_SHA_CHARS);
        return true;
    }
    snprintf(what_failed, sizeof(what_failed), "Redis does not take the script '%s'",
             op_word((enum op_verb)what));
    handshake_refuse_answer(h, what_failed, reply);
    return false;
}
