/* gmq's wire: where a request ends, its numbers, its replies. Pure.
 */
#ifndef DUEQ_PROTOCOL_GMQ_CODEC_H
#define DUEQ_PROTOCOL_GMQ_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "node/store/job.h"
#include "protocol/gmq/call.h"

/* Finds where each request ends in a stream of JSON objects that follow each other with or
 * without white space between them, cut into pieces anywhere.
 *
 * It only counts braces and knows strings; whether a frame is JSON is judged by the parser
 * behind it (call.h). Each byte is looked at once, however the stream is cut. A frame that
 * grows beyond the limit is skipped, not kept: its end is still found, so the connection can
 * go on after it.
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

/* A number of seconds as gmq's clients send it, in JSON or in a string.
 *
 *   "", soon, 12s, 0x10, inf   no number: 0, as in gmq
 *   5, " 5 ", +5, 5.0, 5e0     5
 *   -1, -0.5                   refused: negative
 *   1.5                        refused: not whole
 *   1e30, 99999999999          refused: above the limit
 */

enum gmq_seconds {
    GMQ_SECONDS_OK,
    GMQ_SECONDS_NEGATIVE,
    GMQ_SECONDS_NOT_WHOLE,
    GMQ_SECONDS_LARGE,
};

/* `ms` is untouched unless OK. */
enum gmq_seconds gmq_seconds_read(struct bytes text, int64_t max_ms, int64_t *ms);

/* gmq's replies: {"id":..,"result":..,"error":..} and a line feed, compact, the keys always
 * in this order. Each function adds one complete reply to `out`.
 *
 * `id` is raw JSON and echoed as it is. An error is always a JSON string, because gmq's
 * clients print it as one; it has gmq's own words where gmq has some, else a stable word from
 * base/status.h, a colon and a sentence. Of these only "unknown: .." may have happened.
 */

/* What gmq adds to a job's TTR, and hides from its clients. */
#define GMQ_STRICT_TTR_MS 3000

/* A Push or an Ack that was done. */
void gmq_reply_done(struct buf *out, struct bytes id, enum gmq_method method);

/* The job of a Pop. `strict`: numbers as strings, and the TTR without what gmq adds to it. */
void gmq_reply_job(struct buf *out, struct bytes id, struct bytes topic, const struct job *job,
                   bool strict);

/* A call that the codec refused: `refusal` and `detail` are set. */
void gmq_reply_refusal(struct buf *out, const struct gmq_call *call, bool strict);

/* A call that ended with `status`, which is not OK. */
void gmq_reply_status(struct buf *out, const struct gmq_call *call, enum status status,
                      bool strict);

/* `error` without a call: the request could not be read, or will not be. */
void gmq_reply_error(struct buf *out, struct bytes id, const char *error);

#endif
