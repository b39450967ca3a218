/* What the bodies of the API's requests say. Pure.
 *
 * Strict, because a misspelt member that is ignored is a job that runs at the wrong time: what
 * is not known, given twice, of another type or out of its range is refused, and the text
 * names the member. Nothing is copied: strings are unescaped, and base64 is decoded, where
 * they lie, so each value can be decoded once, and its bytes must be the caller's to change.
 *
 * To add a member: a line in the table of its object in api_decode.c, and where it goes.
 */
#ifndef DUEQ_PROTOCOL_HTTP_API_DECODE_H
#define DUEQ_PROTOCOL_HTTP_API_DECODE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/op.h"

#define API_JOBS_MAX       1000 /* in one request */
#define API_TTR_DEFAULT_MS 60000

/* Why something is refused, for people. Not always UTF-8: it may quote the client. */
struct api_why {
    char text[200];
};

/* One job to be pushed, as struct op wants it. */
struct api_push {
    struct bytes id; /* empty: the store gives one */
    struct bytes body;
    int64_t delay_ms;
    int64_t at_ms; /* 0: not given, or as long past as can be: at once */
    int64_t ttr_ms;
};

/* What ack, release and touch are asked with. */
struct api_lease {
    int64_t stamp;
    int64_t delay_ms; /* release */
    int64_t ttr_ms;   /* touch; 0: the job's own */
};

/* Is it JSON? Then `value` is the body without the space around it, for the calls below. They
 * all leave their outputs alone when they refuse, and then `why` says why. */
enum status api_decode(struct bytes body, struct bytes *value, struct api_why *why) MUST_CHECK;

/* BAD_REQUEST, OUT_OF_RANGE or BAD_ID. Whether the id is a good one is the queue's to say. */
enum status api_decode_push(struct bytes object, struct api_push *push,
                            struct api_why *why) MUST_CHECK;

/* How many jobs a list has: 1 to API_JOBS_MAX, else OUT_OF_RANGE. Not what they are. */
enum status api_count_jobs(struct bytes list, unsigned *count, struct api_why *why) MUST_CHECK;

/* {"lease"} for ACK; with "delay_ms" for RELEASE, with "ttr_ms" for TOUCH. */
enum status api_decode_lease(struct bytes object, enum op_verb verb, struct api_lease *lease,
                             struct api_why *why) MUST_CHECK;

#endif
