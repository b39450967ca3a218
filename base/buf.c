#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REUSED_MAX_BYTES 65536 /* a larger buffer is rare: its memory goes back */

void buf_init(struct buf *b)
{
    *b = (struct buf)BUF_INIT;
}

void buf_fini(struct buf *b)
{
    free(b->at);
    buf_init(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

void buf_reuse(struct buf *b)
{
    if (b->room > REUSED_MAX_BYTES)
        buf_fini(b);
    else
        buf_clear(b);
}

void buf_grow(struct buf *b, size_t more)
{
    size_t room = b->room ? b->room : 64;

    assert(more < SIZE_MAX / 4); /* else the doubling below would never end */
    while (room - b->len < more)
        room *= 2;
    if (room != b->room)
        buf_resize(b, room);
}

void buf_resize(struct buf *b, size_t room)
{
    assert(room && room >= b->room);
    b->at = must(realloc(b->at, room));
    b->room = room;
}

void buf_add_number(struct buf *b, int64_t number)
{
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char digits[20];
    char *end = digits + sizeof(digits), *at = end;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(end - at));
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    int need;

    va_start(args, format);
    va_copy(again, args);
    need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need > 0) {
        vsnprintf(buf_reserve(b, (size_t)need + 1), (size_t)need + 1, format, again);
        b->len += (size_t)need;
    }
    va_end(again);
}

void buf_drop(struct buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->at, b->at + n, b->len - n);
    b->len -= n;
}

struct bytes buf_bytes(const struct buf *b)
{
    return bytes_of(b->at, b->len);
}

const char *buf_text(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->at;
}

/* ---- a stream ---- */

void stream_fini(struct stream *s)
{
    buf_fini(&s->buf);
    s->taken = 0;
}

void stream_add(struct stream *s, struct bytes bytes)
{
    buf_add_bytes(&s->buf, bytes);
}

void stream_take(struct stream *s, size_t n)
{
    assert(n <= stream_len(s));
    s->taken += n;
    if (s->taken == s->buf.len) {
        stream_fini(s);
    } else if (s->taken > s->buf.len / 2) {
        buf_drop(&s->buf, s->taken);
        s->taken = 0;
    }
}

struct bytes stream_bytes(const struct stream *s)
{
    return bytes_of(s->buf.at + s->taken, stream_len(s));
}
