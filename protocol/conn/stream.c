#include "protocol/conn/stream.h"

#include <assert.h>

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
