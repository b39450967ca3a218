/* Where a request's body ends, and what is content in it: by its length, or in chunks. Pure.
 *
 *   SIZE --> DATA --> DATA_END --> SIZE    a chunk
 *   SIZE --> TRAILER --> DONE              the last one, and headers behind it (left alone)
 *   DATA --> DONE                          a body with a length
 *
 * All zero: DONE, no body. Not to be taken from when it is DONE or LOST.
 */
#ifndef DUEQ_PROTOCOL_HTTP_BODY_H
#define DUEQ_PROTOCOL_HTTP_BODY_H

#include "protocol/http/head.h"

enum body_state {
    BODY_DONE,
    BODY_DATA,
    BODY_SIZE,
    BODY_DATA_END,
    BODY_TRAILER,
    BODY_LOST /* by who could not read the head: nobody knows where it ends */
};

struct body {
    enum body_state state;
    bool is_chunked;
    uint64_t left; /* DATA: content bytes to come, of this chunk */
    uint64_t len;  /* content bytes so far, announced ones included */
    uint64_t max_bytes;
    size_t trailer_bytes;
};

/* TOO_LARGE as soon as that is sure; then the body is not DONE. */
enum http_error body_begin(struct body *b, const struct head *h, uint64_t max_bytes);

/* One step: `*used` of `input`'s bytes are taken (0: more are needed), and `content`, which
 * borrows from them, comes out; it is often empty. */
enum http_error body_take(struct body *b, struct bytes input, size_t *used,
                          struct bytes *content);

#endif
