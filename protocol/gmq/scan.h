/* Finds where each request ends in a stream of JSON objects that follow each other with or
 * without white space between them, cut into pieces anywhere.
 *
 * It only counts braces and knows strings; whether a frame is JSON is judged by the parser
 * behind it (call.h). Each byte is looked at once, however the stream is cut. A frame that
 * grows beyond the limit is skipped, not kept: its end is still found, so the connection can
 * go on after it.
 */
#ifndef DUEQ_PROTOCOL_GMQ_SCAN_H
#define DUEQ_PROTOCOL_GMQ_SCAN_H

#include <stdbool.h>

#include "base/bytes.h"

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
