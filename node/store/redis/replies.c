#include "node/store/redis/replies.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/list.h"

#define BLOCK_BYTES  16384     /* most answers, many times over */
#define ELEMENTS_MAX (1 << 20) /* of an array; the memory is taken before they come */
#define ALIGN_BYTES  (sizeof(max_align_t))

struct block {
    struct block *before; /* fuller; NULL for the one that is kept */
    size_t used;
    size_t size;
    _Alignas(max_align_t) char room[];
};

struct redis_replies {
    struct block *block;
};

struct element {
    struct redis_replies *replies; /* hiredis frees without saying whose it is */
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

/* NULL when Redis sends more than there is memory for: hiredis gives the connection up. */
static void *take(struct redis_replies *r, size_t bytes)
{
    size_t size = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    struct block *b = r->block;

    if (b->size - b->used < size) {
        b = block_new(r->block, size > BLOCK_BYTES ? size : BLOCK_BYTES);
        if (!b)
            return NULL;
        r->block = b;
    }
    b->used += size;
    return b->room + b->used - size;
}

static void forget(struct redis_replies *r)
{
    while (r->block->before) {
        struct block *last = r->block;

        r->block = last->before;
        free(last);
    }
    r->block->used = 0;
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
    redisReply *reply;

    if (count > ELEMENTS_MAX)
        return NULL;
    reply = make(task, REDIS_REPLY_ARRAY);
    if (!reply || count == 0)
        return reply;
    reply->element = take(task->privdata, (size_t)count * sizeof(*reply->element));
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

/* Only whole answers are freed, or what there is of one. */
static void free_answer(void *reply)
{
    if (reply)
        forget(CONTAINER_OF(reply, struct element, reply)->replies);
}

/* ---- for the link ---- */

struct redis_replies *redis_replies_new(void)
{
    struct redis_replies *r = malloc(sizeof(*r));

    if (!r)
        abort();
    r->block = block_new(NULL, BLOCK_BYTES);
    if (!r->block)
        abort();
    return r;
}

void redis_replies_free(struct redis_replies *r)
{
    if (!r)
        return;
    forget(r);
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

    forget(r);
    reader->fn = &functions;
    reader->privdata = r;
}
