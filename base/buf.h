/* A growable byte buffer for building replies and keys.
 *
 * It only grows; buf_clear() keeps the memory for the next use. Out of memory aborts: sizes
 * that come from outside were checked against their limits before they reach a buffer.
 */
#ifndef DUEQ_BASE_BUF_H
#define DUEQ_BASE_BUF_H

#include <stddef.h>

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

/* Makes room for `more` bytes and returns where they go; the caller then adds to `len`. */
char *buf_reserve(struct buf *b, size_t more);

void buf_add(struct buf *b, const void *at, size_t len);
void buf_add_bytes(struct buf *b, struct bytes bytes);
void buf_add_text(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drops the first `n` bytes. */
void buf_drop(struct buf *b, size_t n);

/* Borrowed until the next change. */
struct bytes buf_bytes(const struct buf *b);

/* Terminated, borrowed until the next change. */
const char *buf_text(struct buf *b);

#endif
