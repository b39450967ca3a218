/* Bytes as a Redis may send them, read in pieces, as a connection reads them.
 *
 *   byte 0   the size of a piece, less 1
 *   then what Redis says; '\0' stands for "\r\n", so that lines are found soon
 *
 * Whatever comes, what is kept of it is bounded, and what is made of it can be read.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/buf.h"
#include "node/store/redis/wire/reply.h"

#define LINE_BYTES_MAX 65536
#define DEPTH_MAX      9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t visit(const redisReply *reply, unsigned depth)
{
    size_t sum = reply->len;

    assert(depth < DEPTH_MAX);
    if (reply->str)
        assert(reply->str[reply->len] == '\0' && strlen(reply->str) <= reply->len);
    for (size_t i = 0; i < reply->elements; i++)
        sum += visit(reply->element[i], depth + 1);
    return sum;
}

/* False: the connection would be lost. */
static bool read_piece(struct redis_replies *replies, redisReader *reader, struct bytes piece)
{
    void *reply;

    redisReaderFeed(reader, piece.at, piece.len);
    while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
        visit(reply, 0);
        redis_replies_forget(replies);
    }
    if (redis_replies_excess(replies, reader) || reader->err)
        return false;
    assert(reader->len - reader->pos < LINE_BYTES_MAX ||
           reader->rstack[reader->ridx].type == REDIS_REPLY_STRING);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_replies *replies = redis_replies_new();
    redisReader *reader = redisReaderCreate();
    struct buf text = BUF_INIT;
    size_t step = size ? data[0] + 1u : 1;

    redis_replies_attach(replies, reader);
    for (size_t i = 1; i < size; i++)
        if (data[i])
            buf_add_char(&text, (char)data[i]);
        else
            buf_add_text(&text, "\r\n");
    for (size_t at = 0; at < text.len; at += step)
        if (!read_piece(replies, reader,
                        bytes_of(text.at + at, step < text.len - at ? step : text.len - at)))
            break;
    redisReaderFree(reader);
    redis_replies_free(replies);
    buf_fini(&text);
    return 0;
}
