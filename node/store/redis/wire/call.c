#include "node/store/redis/wire/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void call_add_format(struct script_call *call, const char *format, ...)
{
    char *at = call->room + call->used;
    size_t left = sizeof(call->room) - call->used;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(at, left, format, args);
    va_end(args);
    assert(len >= 0 && (size_t)len < left);
    call->used += (size_t)len + 1;
    call_add(call, at, (size_t)len);
}

/* By hand: snprintf is what shows in the profile. */
void call_add_number(struct script_call *call, int64_t number)
{
    char *end = call->room + call->used + 20, *at = end;
    uint64_t left = (uint64_t)number;

    assert(number >= 0 && call->used + 20 <= sizeof(call->room));
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10));
    call->used += 20;
    call_add(call, at, (size_t)(end - at));
}

/* ---- keys ---- */

static bool is_of_the_bucket(char letter)
{
    return letter == 't' || letter == 'n' || letter == 'o' || letter == 'a' || letter == 'c' ||
           letter == 'h' || letter == 'f' || letter == 'i' || letter == 'm';
}

/* Writes the beginning of a bucket's keys, `dq:{7}:`; returns its length. */
static size_t write_bucket(char *at, const struct script_keys *keys, unsigned bucket)
{
    char *end = stpcpy(at, keys->prefix);

    assert(bucket < 1000);
    *end++ = ':';
    *end++ = '{';
    if (bucket >= 100)
        *end++ = (char)('0' + bucket / 100);
    if (bucket >= 10)
        *end++ = (char)('0' + bucket / 10 % 10);
    *end++ = (char)('0' + bucket % 10);
    *end++ = '}';
    *end++ = ':';
    return (size_t)(end - at);
}

void call_add_keys(struct script_call *call, const struct script_keys *keys,
                   const struct op *op, const char *letters)
{
    char bucket[SCRIPT_PREFIX_MAX + 8];
    size_t bucket_len = write_bucket(bucket, keys, op->bucket);

    for (; *letters; letters++) {
        char *at = call->room + call->used;
        size_t len = bucket_len + 1;

        assert(call->used + len + 1 + op->topic.len <= sizeof(call->room));
        memcpy(at, bucket, bucket_len);
        at[bucket_len] = *letters;
        if (!is_of_the_bucket(*letters)) {
            at[len++] = ':';
            memcpy(at + len, op->topic.at, op->topic.len);
            len += op->topic.len;
        }
        call->used += len;
        call_add(call, at, len);
    }
}

/* By hand, as the numbers are: each push has it. */
static size_t write_worker(char *at, uint64_t worker)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[worker >> shift & 15];
    return 16;
}

void call_add_worker_key(struct script_call *call, const struct script_keys *keys,
                         unsigned bucket, char letter, uint64_t worker)
{
    char *at = call->room + call->used;
    size_t len = write_bucket(at, keys, bucket);

    assert(call->used + SCRIPT_PREFIX_MAX + 26 <= sizeof(call->room));
    at[len++] = letter;
    at[len++] = ':';
    len += write_worker(at + len, worker);
    call->used += len;
    call_add(call, at, len);
}

void call_add_worker(struct script_call *call, uint64_t worker)
{
    char *at = call_pack_room(call, 16);

    call_add(call, at, write_worker(at, worker));
}
