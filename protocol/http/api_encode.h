/* The API's replies. Pure: each function adds one JSON value to `out`.
 *
 * A job's body is bytes: it is "body" where it is UTF-8, else "body_base64" in its place, so
 * that nobody takes a mended text for what was pushed.
 */
#ifndef DUEQ_PROTOCOL_HTTP_API_ENCODE_H
#define DUEQ_PROTOCOL_HTTP_API_ENCODE_H

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/http/errors.h"

/* {"id","due_ms"}: a job that was pushed. */
void api_add_pushed(struct buf *out, struct bytes id, int64_t due_ms);

/* {"error":{"code","message"}}: one that was not. */
void api_add_refusal(struct buf *out, enum http_error error, struct bytes message);

/* A job that somebody looks at: with its state, without its lease. */
void api_add_job(struct buf *out, struct bytes topic, const struct job *job);

/* {"topic","jobs"}: what a pop brought, with leases; no job: the topic is null. */
void api_add_popped(struct buf *out, struct bytes topic, const struct job *jobs,
                    unsigned count);

/* {"topic","delayed",..}: how many jobs it has. */
void api_add_topic(struct buf *out, struct bytes topic, const struct topic_stats *stats);

/* {"handovers","next","missed"}: what a call that is done has brought. */
void api_add_handovers(struct buf *out, const struct follow *follow);

#endif
