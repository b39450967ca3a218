/* The API's replies. Pure: each function adds one JSON value to `out`.
 *
 * A job's body is bytes: it is "body" where it is UTF-8, else "body_base64" in its place, so
 * that nobody takes a mended text for what was pushed.
 */
#ifndef DUEQ_PROTOCOL_API_ENCODE_H
#define DUEQ_PROTOCOL_API_ENCODE_H

#include "base/buf.h"
#include "node/queue/queue.h"
#include "protocol/api/cluster_check.h"
#include "protocol/api/report.h"
#include "protocol/http/errors.h"

/* {"id","due_ms"}: a job that was pushed; with "existed" where it replaced one, or was ignored
 * for one. */
void api_add_pushed(struct buf *out, const struct op *op);

/* A job that was looked up: all of its state, without its lease. A listed job has the length of
 * its body in place of the body. */
void api_add_job(struct buf *out, struct bytes topic, const struct job_row *row);
void api_add_listed_job(struct buf *out, struct bytes topic, const struct job_row *row);

/* {"due_ms","tries"}: the result of a RELEASE; with "death" where the tries were used up. */
void api_add_released(struct buf *out, const struct op *op);

/* {"topic","jobs"}: what a pop brought, with leases; no job: the topic is null. `checks` are
 * those of the leases, one a job; NULL: they have none. */
void api_add_popped(struct buf *out, struct bytes topic, const struct job *jobs, unsigned count,
                    const uint64_t *checks);

/* {"topic","delayed",..}: its counts of jobs; and until when it is paused, if it is. */
void api_add_topic(struct buf *out, struct bytes topic, const struct topic_stats *stats);
void api_add_topic_page(struct buf *out, struct bytes topic, const struct topic_stats *stats,
                        int64_t paused_until_ms);

/* A topic of a list, with "bucket", "owner" (of its lock) and "preferred" ("": null) behind. */
void api_add_owned_topic(struct buf *out, unsigned bucket, const struct topic_count *row,
                         struct bytes preferred);

/* {"paused","paused_until_ms"} */
void api_add_pause(struct buf *out, int64_t paused_until_ms);

/* {"topic","own","paused","paused_until_ms"} */
void api_add_own_settings(struct buf *out, const struct settings_row *own,
                          int64_t paused_until_ms);

/* The same with "configured" and "effective" behind "own". */
void api_add_settings(struct buf *out, const struct settings_row *own,
                      const struct topic_settings *configured,
                      const struct topic_settings *effective, int64_t paused_until_ms);

/* {"is_on","history"}: the result of a finished trace. */
void api_add_history(struct buf *out, const struct trace *trace);

/* {"deliveries","next","missed"}: the result of a finished call. */
void api_add_deliveries(struct buf *out, const struct follow *follow);

void api_add_backoff(struct buf *out, const struct backoff *backoff);

/* {"error":{"code","message","count"}}; without "count" for HTTP_ERROR_NO_COUNT. */
void api_add_error(struct buf *out, enum http_error error, struct bytes message, int64_t count);

/* ---- the cluster, and the store as a node sees it: cluster_encode.c ---- */

/* The object in /v1/status. `breaker_since_wall_ms`: when the breaker came into its state. */
void store_add_status(struct buf *out, const struct store_numbers *n,
                      int64_t breaker_since_wall_ms);

/* ["fsync","may_evict"]: the words of the weaknesses that the store has now. */
void store_add_weak(struct buf *out, const struct store_numbers *n);

/* The page of GET /v1/cluster. With `is_standalone`, only `refused` of `s` is read. */
void cluster_add_page(struct buf *out, const char *node, const struct cluster_status *s,
                      bool is_standalone, const struct cluster_report *report);

/* The few facts that /v1/status tells. */
void cluster_add_summary(struct buf *out, const struct cluster_status *s);

#endif
