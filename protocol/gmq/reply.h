/* gmq's replies: {"id":..,"result":..,"error":..} and a line feed, compact, the keys always
 * in this order. Each function adds one complete reply to `out`. Pure.
 *
 * `id` is raw JSON and echoed as it is. An error is always a JSON string, because gmq's
 * clients print it as one; it has gmq's own words where gmq has some, else a stable word from
 * base/status.h, a colon and a sentence. Only "unknown: .." means that the operation may have
 * happened.
 */
#ifndef DUEQ_PROTOCOL_GMQ_REPLY_H
#define DUEQ_PROTOCOL_GMQ_REPLY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "node/store/job.h"
#include "protocol/gmq/codec.h"

/* gmq adds so much to a job's TTR, and hides it from its clients. */
#define GMQ_STRICT_TTR_MS 3000

/* The reply to a Push or an Ack that was done. */
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
