#include "itests/bench/load/redis.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc16.h"
#include "itests/bench/load/clients.h"
#include "node/store/reply.h"
#include "node/store/scripts.h"

#define NAME_ROOM 32

static struct {
    const struct options *o;
    redisContext *link;
    struct script_keys keys;
    char shas[OP_COUNT][SCRIPT_SHA_CHARS + 1];
    char (*names)[NAME_ROOM]; /* one a topic */
    unsigned *buckets;
    char *body;
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

static void name_topics(void)
{
    size_t count = (size_t)redis.o->topics;

    redis.names = calloc(count, sizeof(*redis.names));
    redis.buckets = calloc(count, sizeof(*redis.buckets));
    redis.body = malloc((size_t)redis.o->body_bytes);
    if (!redis.names || !redis.buckets || !redis.body)
        die("no memory");
    memset(redis.body, 'x', (size_t)redis.o->body_bytes);
    for (size_t i = 0; i < count; i++) {
        snprintf(redis.names[i], NAME_ROOM, "bench-%zu", i);
        redis.buckets[i] = crc16(bytes_of_text(redis.names[i])) % redis.keys.buckets;
    }
}

void redis_open(const struct options *o)
{
    redis.o = o;
    redis.keys = (struct script_keys){.prefix = "dq", .buckets = (unsigned)o->buckets};
    redis.link = redisConnectUnix(o->redis);
    if (!redis.link || redis.link->err)
        die("%s: %s", o->redis, redis.link ? redis.link->errstr : "no memory");
    for (int verb = 0; verb < OP_COUNT; verb++)
        load_script((enum op_verb)verb);
    name_topics();
}

void redis_close(void)
{
    if (redis.last)
        freeReplyObject(redis.last);
    redisFree(redis.link);
    free(redis.names);
    free(redis.buckets);
    free(redis.body);
}

void redis_set_topic(struct op *op, unsigned topic)
{
    op->topic = bytes_of_text(redis.names[topic]);
    op->bucket = redis.buckets[topic];
}

void redis_fill_in_push(struct op *op, struct bytes id)
{
    op->verb = OP_PUSH;
    op->id = id;
    op->in.push.body = bytes_of(redis.body, (size_t)redis.o->body_bytes);
    op->in.push.delay_ms = redis.o->delay_s * 1000;
    op->in.push.at_ms = redis.o->at_ms;
    op->in.push.ttr_ms = redis.o->ttr_s * 1000;
}

void redis_append(const struct op *op)
{
    struct script_call call;

    script_encode(&call, &redis.keys, op, redis.shas[op->verb]);
    if (redisAppendCommandArgv(redis.link, call.argc, call.argv, call.lens) != REDIS_OK)
        die("redisAppendCommandArgv: %s", redis.link->errstr);
}

void redis_take(struct op *op)
{
    enum reply_meaning meaning;
    void *reply;

    if (redis.last)
        freeReplyObject(redis.last);
    if (redisGetReply(redis.link, &reply) != REDIS_OK)
        die("Redis: %s", redis.link->errstr);
    redis.last = reply;
    meaning = reply_decode(redis.last, op, &redis.room);
    if (meaning != REPLY_DONE || op->status != STATUS_OK)
        die("%s: %s %s", op_word(op->verb), status_text(op->status),
            redis.last->str ? redis.last->str : "");
}
