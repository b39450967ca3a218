#include "node/store/redis/wire/tests/reply_fixture.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "base/buf.h"

static struct {
    struct reply_room room;
    void *reply;
    struct buf built;
    unsigned elements;
    unsigned i, count; /* see decode_part_of() */
} bench;

struct op op_of(enum op_verb verb)
{
    struct op op = {.verb = verb, .id = BYTES("id"), .status = STATUS_COUNT};

    if (verb == OP_POP)
        op.in.pop.count = 2;
    if (op_has(verb, TRAIT_OF_LEASES))
        op.in.leases.count = 3;
    if (verb == OP_TOPICS)
        op.in.topics.limit = 2;
    if (verb == OP_KICK || verb == OP_PURGE)
        op.in.chunk.limit = 3;
    if (verb == OP_LIST)
        op.in.list.limit = 2;
    if (verb == OP_TRACE)
        op.in.trace.limit = 2;
    return op;
}

static void drop_reply(void)
{
    if (bench.reply)
        freeReplyObject(bench.reply);
    bench.reply = NULL;
}

static enum reply_meaning decode(struct op *op, redisReader *reader)
{
    drop_reply();
    assert_int_equal(redisReaderGetReply(reader, &bench.reply), REDIS_OK);
    assert_non_null(bench.reply);
    redisReaderFree(reader);
    if (bench.count > 1)
        return reply_decode_one(bench.reply, bench.i, bench.count, op);
    return reply_decode(bench.reply, op, &bench.room);
}

void decode_part_of(unsigned i, unsigned count)
{
    bench.i = i;
    bench.count = count;
}

enum reply_meaning decode_bytes(struct op *op, const char *text, size_t len)
{
    redisReader *reader = redisReaderCreate();

    for (size_t i = 0; i < len; i++)
        redisReaderFeed(reader, text[i] == '\n' ? "\r\n" : text + i, text[i] == '\n' ? 2 : 1);
    return decode(op, reader);
}

void build(void)
{
    buf_clear(&bench.built);
    bench.elements = 0;
    build_number(0);
    build_number(1800000000000);
    build_number(-1);
}

void build_number(int64_t number)
{
    buf_printf(&bench.built, ":%lld\r\n", (long long)number);
    bench.elements++;
}

void build_bytes(struct bytes bytes)
{
    buf_printf(&bench.built, "$%zu\r\n", bytes.len);
    buf_add_bytes(&bench.built, bytes);
    buf_add_text(&bench.built, "\r\n");
    bench.elements++;
}

enum reply_meaning decode_built(struct op *op)
{
    redisReader *reader = redisReaderCreate();
    char head[24];

    snprintf(head, sizeof(head), "*%u\r\n", bench.elements);
    redisReaderFeed(reader, head, strlen(head));
    redisReaderFeed(reader, bench.built.at, bench.built.len);
    return decode(op, reader);
}

size_t large_bytes(void)
{
    return bench.room.large_bytes;
}

int reply_fini(void **state)
{
    drop_reply();
    buf_fini(&bench.built);
    return 0;
}
