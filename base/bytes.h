/* A borrowed run of bytes without a NUL at its end. The lender says how long the bytes live. */
#ifndef DUEQ_BASE_BYTES_H
#define DUEQ_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    const char *at;
    size_t len;
};

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
