/* Bytes in the order they came: added at the end, taken from the front.
 *
 * Taking moves nothing (what is taken is let go when there is enough of it), and an empty
 * stream holds no memory: most connections have nothing to keep most of the time.
 */
#ifndef DUEQ_PROTOCOL_CONN_STREAM_H
#define DUEQ_PROTOCOL_CONN_STREAM_H

#include "base/buf.h"

/* All zero: empty. */
struct stream {
    struct buf buf;
    size_t taken; /* bytes at the front of `buf` that are gone already */
};

void stream_fini(struct stream *s);

void stream_add(struct stream *s, struct bytes bytes);

/* Forgets the first `n` bytes. */
void stream_take(struct stream *s, size_t n);

/* All that is in it, borrowed until the next change. */
struct bytes stream_bytes(const struct stream *s);

static inline size_t stream_len(const struct stream *s)
{
    return s->buf.len - s->taken;
}

#endif
