#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

char *buf_reserve(struct buf *b, size_t more)
{
    size_t room = b->room ? b->room : 64;

    assert(more < SIZE_MAX / 4); /* else the doubling below would never end */
    while (room - b->len < more)
        room *= 2;
    if (room != b->room) {
        b->at = realloc(b->at, room);
        if (!b->at)
            abort();
        b->room = room;
    }
    return b->at + b->len;
}

void buf_add(struct buf *b, const void *at, size_t len)
{
    char *to = buf_reserve(b, len);

    if (len)
        memcpy(to, at, len);
    b->len += len;
}

void buf_add_bytes(struct buf *b, struct bytes bytes)
{
    buf_add(b, bytes.at, bytes.len);
}

void buf_add_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_add_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->len++;
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
