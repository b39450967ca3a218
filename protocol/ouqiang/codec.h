/* ouqiang's bodies and replies. Pure.
 *
 * The original is written in Go and reads JSON as Go does: the names of members in any case,
 * the last of two equal ones, null like a missing one, unknown ones ignored; a value of another
 * type is no JSON to it. White space around id and topic is cut off.
 */
#ifndef DUEQ_PROTOCOL_OUQIANG_CODEC_H
#define DUEQ_PROTOCOL_OUQIANG_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "node/store/job.h"

#define OUQIANG_DELAY_MAX_S (INT64_C(1) << 31)
#define OUQIANG_TTR_MAX_S   86400

/* What a request may say; what it does not is empty or 0. */
struct ouqiang_request {
    struct bytes topic;
    struct bytes id;
    struct bytes body;
    int64_t delay_s;
    int64_t ttr_s;
};

/* Borrows from `json`, in which strings are unescaped in place. False: the original would say
 * that it is no JSON. */
bool ouqiang_read(struct bytes json, struct ouqiang_request *request);

/* Why the original would refuse it as a push: static. NULL: it would not. */
const char *ouqiang_refusal_of_push(const struct ouqiang_request *request);

/* {"code","message","data"}, where `data` is JSON. */
void ouqiang_add_reply(struct buf *out, int code, struct bytes message, struct bytes data);

/* {"id","body"}; the bytes of a body that is not UTF-8 are beside it, as "body_base64". */
void ouqiang_add_popped(struct buf *out, const struct job *job);

/* {"topic","id","delay","ttr","body"}: `delay` is the second in which it is due. */
void ouqiang_add_job(struct buf *out, struct bytes topic, const struct job *job);

#endif
