/* gmq's requests as bytes: where one ends in the stream, and what it says. Pure. The replies
 * are reply.h's. */
#ifndef DUEQ_PROTOCOL_GMQ_CODEC_H
#define DUEQ_PROTOCOL_GMQ_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* One gmq request, from its bytes: {"method","params":[x],"id"}.
 *
 * Parsing copies nothing: the call borrows from the frame, in which strings are unescaped in
 * place. A call that outlives its frame copies what it needs and no more (gmq_call_move): a
 * request may be large and say little.
 *
 * gmq is written in Go and reads JSON as Go does: the names of members in any case, the last
 * of two equal ones, null like a missing one. Its clients rely on more: numbers as strings,
 * a list around a single topic. All of that is accepted. Values that cannot be meant (a
 * negative delay, half a second, a century) are refused, never guessed; only a text that is no
 * number at all counts as 0, as in gmq.
 */

#define GMQ_ID_MAX_BYTES 1024 /* of the request's "id", as it is echoed */

enum gmq_method { GMQ_PUSH, GMQ_POP, GMQ_ACK, GMQ_METHOD_COUNT };

struct gmq_call {
    enum gmq_method method;
    bool has_method;      /* `method` is known, even if the call is refused */
    struct bytes id;      /* the request's, raw: echoed as it is; or "null" */
    struct bytes job_id;  /* PUSH, ACK */
    struct bytes topic;   /* PUSH */
    struct bytes body;    /* PUSH */
    int64_t delay_ms;     /* PUSH: 0 to QUEUE_DELAY_MAX_MS */
    int64_t ttr_ms;       /* PUSH: 0 to QUEUE_TTR_MAX_MS */
    struct bytes *topics; /* POP: the call's own array */
    unsigned topic_count; /* POP: 1 to QUEUE_TOPICS_PER_POP_MAX */
    const char *refusal;  /* static text: why the call is refused; NULL when it is good */
    struct bytes detail;  /* what the client wrote, to go behind the refusal; or empty */
};

/* Fills `call` in; gmq_call_fini is due whatever comes back. `frame` is a run of bytes that
 * the scanner found; it is changed, and belongs to the call until then. False: it is not
 * JSON, and the connection cannot be trusted any more. True: look at `refusal` first. */
bool gmq_call_parse(struct gmq_call *call, char *frame, size_t len);

/* Copies what a good call borrows to `room`, gmq_call_bytes() long, and borrows from there
 * from now on. */
size_t gmq_call_bytes(const struct gmq_call *call);
void gmq_call_move(struct gmq_call *call, char *room);
void gmq_call_fini(struct gmq_call *call);

/* Finds where each request ends in a stream of JSON objects that follow each other with or
 * without white space between them, cut into pieces anywhere.
 *
 * The scanner only counts braces and knows strings; gmq_call_parse() judges whether a frame is
 * JSON. Each byte is looked at once, however the stream is cut. A frame that grows beyond the
 * limit is skipped, not kept: its end is still found, so the connection can go on after it.
 */

/* All zero at the start of a stream. */
struct gmq_scan {
    size_t seen;      /* bytes at the front of the input that are known already */
    size_t depth;     /* open braces and brackets */
    bool in_string;   /* inside quotes */
    bool is_escaped;  /* the next byte follows a backslash */
    bool is_skipping; /* the frame is over the limit: its bytes are let go */
};

enum gmq_scan_result {
    GMQ_SCAN_MORE,     /* no complete frame: come back with more bytes behind the rest */
    GMQ_SCAN_FRAME,    /* `frame` is one, borrowed from the input */
    GMQ_SCAN_OVERSIZE, /* a frame over the limit has ended; all of it was let go */
    GMQ_SCAN_NOT_JSON, /* what comes next is no object: the stream is lost */
};

/* Looks at `input`, which begins with the first byte that was not used yet. `used` tells how
 * many bytes the caller can forget (once it is done with `frame`); the rest is offered again.
 */
enum gmq_scan_result gmq_scan_next(struct gmq_scan *scan, struct bytes input,
                                   size_t frame_max_bytes, struct bytes *frame, size_t *used);

/* Is the stream inside a frame? */
bool gmq_scan_is_inside(const struct gmq_scan *scan);

#endif
