/* A borrowed run of bytes without a NUL at its end. The lender says how long the bytes live. */
#ifndef DUEQ_BASE_BYTES_H
#define DUEQ_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    const char *at;
    size_t len;
};

/* Returns `memory`. Aborts when there is none: a node without memory is of no use, and its
 * warden starts it anew. Sizes from outside are limited before they come here. */
static inline void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* For printf's "%.*s": BYTES_ARG(b) gives the width and the pointer. */
#define BYTES_ARG(b) (int)(b).len, (b).at

/* From a string literal. */
#define BYTES(literal) ((struct bytes){"" literal, sizeof(literal) - 1})

static inline struct bytes bytes_of(const char *at, size_t len)
{
    return (struct bytes){at, len};
}

static inline struct bytes bytes_of_text(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Below, at or above 0, as memcmp(); of two that begin alike, the shorter comes first. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.at, b.at, common) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Takes the part of `rest` before the first `c`, and drops that `c`; without a `c`, takes all.
 */
static inline struct bytes bytes_cut(struct bytes *rest, char c)
{
    const char *at = rest->len ? memchr(rest->at, c, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->at) : rest->len;
    size_t gone = at ? len + 1 : len;
    struct bytes front = bytes_of(rest->at, len);

    *rest = bytes_of(rest->at + gone, rest->len - gone);
    return front;
}

/* A terminated copy, the caller's to free(). A NUL in the bytes ends it. */
static inline char *bytes_copy(struct bytes from)
{
    return must(strndup(from.len ? from.at : "", from.len));
}

/* Takes the decimal digits off the front. False, and both untouched: there are none, or too
 * many for the type. */
static inline bool bytes_take_digits(struct bytes *from, int64_t *value)
{
    int64_t v = 0;
    size_t i = 0;

    for (; i < from->len && from->at[i] >= '0' && from->at[i] <= '9'; i++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, from->at[i] - '0', &v))
            return false;
    }
    if (i == 0)
        return false;
    *from = bytes_of(from->at + i, from->len - i);
    *value = v;
    return true;
}

/* Copies `from` to *room, moves *room behind the copy, and returns the copy. */
static inline struct bytes text_put(char **room, struct bytes from)
{
    struct bytes copied = bytes_of(*room, from.len);

    if (from.len)
        memcpy(*room, from.at, from.len);
    *room += from.len;
    return copied;
}

#endif
