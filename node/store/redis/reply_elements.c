#include "node/store/redis/reply_elements.h"

#include <hiredis/hiredis.h>

#include "node/store/op.h"

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
