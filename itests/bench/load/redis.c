#include "itests/bench/load/redis.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc16.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/supply.h"
#include "node/store/redis/wire/decode.h"
#include "node/store/redis/push_ledger.h"
#include "node/store/redis/wire/encode.h"

static struct {
    const struct options *o;
    redisContext *link;
    struct script_keys keys;
    char shas[OP_COUNT][SCRIPT_SHA_CHARS + 1];
    struct push_ledger *ledger;
    unsigned *buckets; /* one a topic */
    redisReply *last;
    struct reply_room room;
} redis;

static void load_script(enum op_verb verb)
{
    redisReply *reply;

    if (!script_text(verb))
        return;
    reply = redisCommand(redis.link, "SCRIPT LOAD %s", script_text(verb));
    if (!reply || reply->type != REDIS_REPLY_STRING)
        die("SCRIPT LOAD %s failed", op_word(verb));
    memcpy(redis.shas[verb], reply->str, SCRIPT_SHA_CHARS);
    freeReplyObject(reply);
}

static void find_buckets(void)
{
    redis.buckets = must_calloc(redis.o->topics, sizeof(*redis.buckets));
    for (unsigned i = 0; i < redis.o->topics; i++)
        redis.buckets[i] = crc16(supply_topic(i)) % redis.keys.buckets;
}

void redis_open(const struct options *o)
{
    redis.o = o;
    redis.keys = (struct script_keys){.prefix = "dq", .buckets = (unsigned)o->buckets};
    redis.ledger = push_ledger_new(redis.keys.buckets);
    redis.link = redisConnectUnix(o->redis);
    if (!redis.link || redis.link->err)
        die("%s: %s", o->redis, redis.link ? redis.link->errstr : "no memory");
    for (int verb = 0; verb < OP_COUNT; verb++)
        load_script((enum op_verb)verb);
    find_buckets();
}

void redis_close(void)
{
    if (redis.last)
        freeReplyObject(redis.last);
    redisFree(redis.link);
    free(redis.buckets);
    push_ledger_free(redis.ledger);
}

unsigned redis_bucket_of(unsigned topic)
{
    return redis.buckets[topic];
}

void redis_set_topic(struct op *op, unsigned topic)
{
    op->topic = supply_topic(topic);
    op->bucket = redis.buckets[topic];
}

void redis_fill_in_push(struct op *op, struct bytes id)
{
    op->verb = OP_PUSH;
    op->id = id;
    memset(&op->in, 0, sizeof(op->in));
    op->in.push.body = supply_body();
    op->in.push.delay_ms = redis.o->delay_s * 1000;
    op->in.push.at_ms = redis.o->at_ms;
    op->in.push.ttr_ms = redis.o->ttr_s * 1000;
    op->in.push.rules = rules_default;
}

void redis_append(const struct op *op)
{
    struct script_call call;

    if (op->verb == OP_PUSH) {
        struct push_note note = push_ledger_next(redis.ledger, op->bucket, 0);

        /* It happens, or the load ends. */
        push_ledger_done(redis.ledger, op->bucket, &note, 0);
        script_encode_push(&call, &redis.keys, op, &note, redis.shas[op->verb]);
    } else {
        script_encode(&call, &redis.keys, op, redis.shas[op->verb]);
    }
    redis_append_command(call.argc, call.argv, call.lens);
}

void redis_append_command(int argc, const char **argv, const size_t *lens)
{
    if (redisAppendCommandArgv(redis.link, argc, argv, lens) != REDIS_OK)
        die("redisAppendCommandArgv: %s", redis.link->errstr);
}

void redis_append_text(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (redisvAppendCommand(redis.link, format, args) != REDIS_OK)
        die("redisAppendCommand: %s", redis.link->errstr);
    va_end(args);
}

static void take_reply(void)
{
    void *reply;

    if (redis.last)
        freeReplyObject(redis.last);
    if (redisGetReply(redis.link, &reply) != REDIS_OK)
        die("Redis: %s", redis.link->errstr);
    redis.last = reply;
}

void redis_take_plain(void)
{
    take_reply();
    if (redis.last->type == REDIS_REPLY_ERROR)
        die("Redis: %s", redis.last->str);
}

void redis_take(struct op *op)
{
    enum reply_meaning meaning;

    take_reply();
    meaning = reply_decode(redis.last, op, &redis.room);
    if (meaning != REPLY_DONE || op->status != STATUS_OK)
        die("%s: %s %s", op_word(op->verb), status_text(op->status),
            redis.last->str ? redis.last->str : "");
}
