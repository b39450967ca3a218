/* The wire of gmq's HTTP: what version 2 takes and answers, and what the web monitor shows.
 * Pure.
 *
 * Both are written in Go: JSON's members in any case, the last of two equal ones, null like a
 * missing one, unknown ones ignored; numbers are numbers, and whole. Replies have their members
 * in the order of the alphabet.
 */
#ifndef DUEQ_PROTOCOL_GMQ_WEB_CODEC_H
#define DUEQ_PROTOCOL_GMQ_WEB_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/store/op.h"

/* ---- version 2 ---- */

/* The job of a push; borrows from its JSON, in which strings are unescaped in place. */
struct gmq_web_job {
    struct bytes id, topic, body;
    int64_t delay_ms; /* 0 to QUEUE_DELAY_MAX_MS */
    int64_t ttr_ms;   /* 0 to QUEUE_TTR_MAX_MS */
};

/* False: `why` is set, for people; static. */
bool gmq_web_job_read(struct bytes json, struct gmq_web_job *job, const char **why);

/* {"code":0,"data":null,"msg":"push success"} */
void gmq_web_add_done(struct buf *out, const char *msg);

/* {"code":1,"data":null,"msg":"..."}; of the monitor's errors, too. */
void gmq_web_add_error(struct buf *out, struct bytes msg);

/* A popped job: all of its values are texts. */
void gmq_web_add_popped(struct buf *out, struct bytes topic, const struct job *job);

/* ---- the monitor ----
 *
 * gmq has a list of ready jobs for each topic, and spreads delayed and reserved ones over some
 * buckets. Here each topic has one of each kind.
 */

enum gmq_web_kind { GMQ_WEB_READY, GMQ_WEB_DELAYED, GMQ_WEB_RESERVED, GMQ_WEB_KINDS };

extern const enum job_state gmq_web_states[GMQ_WEB_KINDS];

/* The number of jobs in it. */
int64_t gmq_web_count(enum gmq_web_kind kind, const struct topic_stats *stats);

/* "gmq:bucket:orders", and back. False: it is no such key. */
void gmq_web_add_key(struct buf *out, enum gmq_web_kind kind, struct bytes topic);
bool gmq_web_key_read(struct bytes key, enum gmq_web_kind *kind, struct bytes *topic);

/* A reply with a list: rows behind the opening, the first with number 1; the list of no rows is
 * null. */
void gmq_web_open(struct buf *out);
void gmq_web_add_stat(struct buf *out, unsigned number, enum gmq_web_kind kind,
                      struct bytes topic, int64_t job_count, int64_t next_ms);
void gmq_web_add_listed(struct buf *out, struct bytes topic, const struct job_row *row);
void gmq_web_close(struct buf *out, unsigned row_count, const char *msg);

/* "1m40s", as Go prints a duration of whole seconds. */
void gmq_web_add_duration(struct buf *out, int64_t seconds);

#endif
