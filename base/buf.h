/* A growable byte buffer for building replies and keys.
 *
 * It only grows; buf_clear() keeps the memory for the next use. Out of memory aborts: sizes
 * that come from outside were checked against their limits before they reach a buffer.
 */
#ifndef DUEQ_BASE_BUF_H
#define DUEQ_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct buf {
    char *at;
    size_t len;
    size_t room; /* allocated */
};

#define BUF_INIT   \
    {              \
        NULL, 0, 0 \
    }

void buf_init(struct buf *b);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b);

/* Makes a scratch buffer ready for its next use: memory of a usual size stays. */
void buf_reuse(struct buf *b);

/* Allocates room for `more` bytes. For buf_reserve() only. */
void buf_grow(struct buf *b, size_t more);

/* Makes room for `more` bytes and returns where they go; the caller then adds to `len`. */
static inline char *buf_reserve(struct buf *b, size_t more)
{
    if (!b->at || b->room - b->len < more)
        buf_grow(b, more);
    return b->at + b->len;
}

/* Makes the allocated memory exactly `room` bytes; `room` must not be less than now. */
void buf_resize(struct buf *b, size_t room);

/* Inline, so that the compiler knows the length of a constant. */
static inline void buf_add(struct buf *b, const void *at, size_t len)
{
    char *to = buf_reserve(b, len);

    if (len)
        memcpy(to, at, len);
    b->len += len;
}

static inline void buf_add_bytes(struct buf *b, struct bytes bytes)
{
    buf_add(b, bytes.at, bytes.len);
}

static inline void buf_add_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

static inline void buf_add_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->len++;
}

void buf_add_number(struct buf *b, int64_t number); /* in decimal */
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drops the first `n` bytes. */
void buf_drop(struct buf *b, size_t n);

/* Borrowed until the next change. */
struct bytes buf_bytes(const struct buf *b);

/* Terminated, borrowed until the next change. */
const char *buf_text(struct buf *b);

/* ---- a stream ----
 *
 * Bytes are added at the end and taken from the front. Taken bytes stay in memory until they
 * are more than half of all. An empty stream holds no memory, because most connections have
 * nothing to keep most of the time. */

/* All zero: empty. */
struct stream {
    struct buf buf;
    size_t taken; /* bytes at the front of `buf` that are gone already */
};

void stream_fini(struct stream *s);

void stream_add(struct stream *s, struct bytes bytes);

/* Takes the first `n` bytes off; there must be so many. */
void stream_take(struct stream *s, size_t n);

/* All bytes not taken yet, borrowed until the next change. */
struct bytes stream_bytes(const struct stream *s);

static inline size_t stream_len(const struct stream *s)
{
    return s->buf.len - s->taken;
}

#endif
