/* mykit-delay's wire: a job as its clients send it, and the replies. Pure.
 *
 * mykit-delay is written in Java, and reads JSON as Jackson does: names of members in their own
 * case, unknown ones ignored, the last of two equal ones, null like a missing one; a text may
 * be a number or a truth value, a number may be a text. All of that is accepted. What Jackson
 * refuses, a list in the place of a text, say, is refused.
 */
#ifndef DUEQ_PROTOCOL_MYKIT_CODEC_H
#define DUEQ_PROTOCOL_MYKIT_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "node/store/job.h"

/* ---- the job of a push ---- */

/* Borrows from the body, in which strings are unescaped in place. */
struct mykit_job {
    struct bytes topic; /* `at` is NULL: not given */
    struct bytes subtopic, id, biz_key, body;
    int64_t delay_ms;
    int64_t ttl;       /* kept for the consumer; nothing here acts by it */
    int64_t create_ms; /* where has_create; the due time is create_ms + delay_ms */
    bool has_create;
    int64_t status;
};

/* False: `why` is set, for people; static. */
bool mykit_job_read(struct bytes body, struct mykit_job *job, const char **why);

/* The due time, for op.h's in.push: at_ms, or where that is 0 delay_ms. A time that is past, as
 * of a negative delay, means at once. False: it cannot be meant. */
bool mykit_job_due(const struct mykit_job *job, int64_t *at_ms, int64_t *delay_ms);

/* What travels with the job beside its body. False: it is too long. */
bool mykit_job_pack(const struct mykit_job *job, struct attributes *to);

/* Adds an id for a job that came without: topic[:bizKey]:<address>:<number>. A bizKey that
 * cannot be in an id is left out; a topic that is too long is cut. */
void mykit_id_add(struct buf *out, const struct mykit_job *job, struct bytes address,
                  uint64_t number);

/* ---- replies: the envelope of its ResponseMessage, the fields always in this order ---- */

/* success, with `data`: null, a text, or a job that was popped. */
void mykit_add_ok(struct buf *out);
void mykit_add_text(struct buf *out, struct bytes data);
void mykit_add_job(struct buf *out, struct bytes topic, const struct job *job);

/* no success: code 500 */
void mykit_add_error(struct buf *out, struct bytes message);

/* ---- health: as Spring Boot 1.5 writes it ---- */

struct mykit_health {
    bool is_up;
    bool is_master;  /* this node moves what is due */
    bool is_cluster; /* all nodes do */
    unsigned bucket_count;
    struct bytes prefix; /* of the keys in Redis */
};

void mykit_add_health(struct buf *out, const struct mykit_health *health);

#endif
