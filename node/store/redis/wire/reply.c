#include "node/store/redis/wire/reply.h"

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "node/store/packed.h"

#define BLOCK_BYTES 16384 /* most answers, many times over */
#define ALIGN_BYTES (sizeof(max_align_t))

/* See redis_replies_excess(). */
#define ELEMENTS_MAX     (1 << 20)
#define STRING_BYTES_MAX (128LL << 20)
#define LINE_BYTES_MAX   65536
#define ANSWER_BYTES_MAX ((size_t)160 << 20)

struct block {
    struct block *before; /* fuller; NULL for the one that is kept */
    size_t used;
    size_t size;
    _Alignas(max_align_t) char room[];
};

struct redis_replies {
    struct block *block;
    size_t used;        /* in all blocks */
    const char *excess; /* NULL: none of the answer so far */
};

struct element {
    struct redis_replies
        *replies; /* hiredis's free functions do not say which memory is meant */
    redisReply reply;
};

/* ---- memory ---- */

static struct block *block_new(struct block *before, size_t size)
{
    struct block *b = malloc(sizeof(*b) + size);

    if (b)
        *b = (struct block){.before = before, .size = size};
    return b;
}

/* NULL when the memory is used up: hiredis gives up the connection then. */
static void *take(struct redis_replies *r, size_t bytes)
{
    size_t size = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    struct block *b = r->block;

    if (size > ANSWER_BYTES_MAX - r->used) {
        r->excess = "an answer that is too large";
        return NULL;
    }
    if (b->size - b->used < size) {
        b = block_new(r->block, size > BLOCK_BYTES ? size : BLOCK_BYTES);
        if (!b)
            return NULL;
        r->block = b;
    }
    b->used += size;
    r->used += size;
    return b->room + b->used - size;
}

void redis_replies_forget(struct redis_replies *r)
{
    while (r->block->before) {
        struct block *last = r->block;

        r->block = last->before;
        free(last);
    }
    r->block->used = 0;
    r->used = 0;
}

/* ---- what hiredis calls ---- */

static redisReply *make(const redisReadTask *task, int type)
{
    struct redis_replies *r = task->privdata;
    struct element *e = take(r, sizeof(*e));

    if (!e)
        return NULL;
    *e = (struct element){.replies = r, .reply.type = type};
    if (task->parent)
        ((redisReply *)task->parent->obj)->element[task->idx] = &e->reply;
    return &e->reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    redisReply *reply = make(task, task->type);
    char *copy = reply ? take(task->privdata, len + 1) : NULL;

    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    reply->str = copy;
    reply->len = len;
    return reply;
}

static void *make_array(const redisReadTask *task, int count)
{
    struct redis_replies *r = task->privdata;
    redisReply *reply;

    if (count > ELEMENTS_MAX) {
        r->excess = "an answer with too many elements";
        return NULL;
    }
    reply = make(task, REDIS_REPLY_ARRAY);
    if (!reply || count == 0)
        return reply;
    reply->element = take(r, (size_t)count * sizeof(*reply->element));
    reply->elements = (size_t)count;
    return reply->element ? reply : NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
    redisReply *reply = make(task, REDIS_REPLY_INTEGER);

    if (reply)
        reply->integer = number;
    return reply;
}

static void *make_nil(const redisReadTask *task)
{
    return make(task, REDIS_REPLY_NIL);
}

/* Called for a whole answer, or the part that has come, not for single elements. */
static void free_answer(void *reply)
{
    if (reply)
        redis_replies_forget(CONTAINER_OF(reply, struct element, reply)->replies);
}

/* ---- for the link ---- */

struct redis_replies *redis_replies_new(void)
{
    struct redis_replies *r = must(malloc(sizeof(*r)));

    *r = (struct redis_replies){.block = block_new(NULL, BLOCK_BYTES)};
    if (!r->block)
        abort();
    return r;
}

void redis_replies_free(struct redis_replies *r)
{
    if (!r)
        return;
    redis_replies_forget(r);
    free(r->block);
    free(r);
}

void redis_replies_attach(struct redis_replies *r, redisReader *reader)
{
    static redisReplyObjectFunctions functions = {
        .createString = make_string,
        .createArray = make_array,
        .createInteger = make_integer,
        .createNil = make_nil,
        .freeObject = free_answer,
    };

    redis_replies_forget(r);
    r->excess = NULL;
    reader->fn = &functions;
    reader->privdata = r;
}

/* What the reader waits for has its first line there in part, or is a string whose length is
 * known: all else is taken with the end of its line. Memory for a string is taken only as it
 * comes. */
static const char *excess_of(const char *at, size_t len)
{
    bool has_line = memmem(at, len < LINE_BYTES_MAX ? len : LINE_BYTES_MAX, "\r\n", 2) != NULL;

    if (!has_line && len >= LINE_BYTES_MAX)
        return "a line that is too long";
    if (has_line && strtoll(at, NULL, 10) > STRING_BYTES_MAX)
        return "a string that is too long";
    return NULL;
}

/* What has no memory any more is an error of the reader. */
const char *redis_replies_excess(const struct redis_replies *r, const redisReader *reader)
{
    if (reader->err || reader->pos == reader->len)
        return r->excess;
    return excess_of(reader->buf + reader->pos, reader->len - reader->pos);
}

/* ---- parts of a reply ---- */

bool take_number(const redisReply *reply, size_t i, int64_t min, int64_t max, int64_t *number)
{
    const redisReply *element = i < reply->elements ? reply->element[i] : NULL;

    if (!element || element->type != REDIS_REPLY_INTEGER)
        return false;
    if (element->integer < min || element->integer > max)
        return false;
    *number = element->integer;
    return true;
}

bool take_ms(const redisReply *reply, size_t i, int64_t min, int64_t *ms)
{
    return take_number(reply, i, min, (INT64_C(1) << 48) - 1, ms);
}

bool take_head(const redisReply *reply, int64_t code_max, struct reply_head *head)
{
    return take_number(reply, 0, 0, code_max, &head->code) &&
           take_ms(reply, 1, 0, &head->now_ms) && take_ms(reply, 2, -1, &head->wait_ms);
}

bool take_unsigned(const redisReply *reply, size_t i, unsigned max, unsigned *number)
{
    int64_t wide;

    if (!take_number(reply, i, 0, max, &wide))
        return false;
    *number = (unsigned)wide;
    return true;
}

bool take_bool(const redisReply *reply, size_t i, bool *is)
{
    int64_t wide;

    if (!take_number(reply, i, 0, 1, &wide))
        return false;
    *is = wide;
    return true;
}

bool take_bytes(const redisReply *reply, size_t i, struct bytes *bytes)
{
    const redisReply *element = i < reply->elements ? reply->element[i] : NULL;

    if (!element || element->type != REDIS_REPLY_STRING)
        return false;
    *bytes = bytes_of(element->str, element->len);
    return true;
}

bool take_cursor(const redisReply *reply, size_t i, struct bytes *cursor)
{
    struct bytes found;

    if (!take_bytes(reply, i, &found) || found.len > OP_CURSOR_MAX)
        return false;
    *cursor = found;
    return true;
}

bool take_job(const redisReply *reply, size_t *i, struct job *job)
{
    struct bytes value;

    if (!take_bytes(reply, (*i)++, &value) || job_unpack(value, job) != STATUS_OK)
        return false;
    if (value.at[0] & JOB_FLAG_BIG)
        return job->body.len == 0 && take_bytes(reply, (*i)++, &job->body);
    return true;
}

bool take_job_alone(const redisReply *reply, size_t i, struct job *job)
{
    struct bytes value;
    struct job found = {.id = job->id};

    if (!take_bytes(reply, i, &value) || job_unpack(value, &found) != STATUS_OK ||
        found.body.len != 0)
        return false;
    *job = found;
    return true;
}

bool reply_read_meta(const redisReply *reply, struct reply_meta *meta)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == REPLY_HEAD + 4 &&
           take_number(reply, REPLY_HEAD, INT64_MIN, INT64_MAX, &meta->schema) &&
           take_number(reply, REPLY_HEAD + 1, INT64_MIN, INT64_MAX, &meta->buckets) &&
           take_bytes(reply, REPLY_HEAD + 2, &meta->lease_key) &&
           take_bool(reply, REPLY_HEAD + 3, &meta->has_bare);
}
