/* One gmq request, from its bytes: {"method","params":[x],"id"}. Pure.
 *
 * gmq is written in Go and reads JSON as Go does: the names of members in any case, the last
 * of two equal ones, null like a missing one. Its clients rely on more: numbers as strings,
 * a list around a single topic. All of that is accepted. What cannot be meant (a negative
 * delay, half a second, a century) is refused, never guessed; only what is no number at all
 * counts as 0, as it does in gmq.
 */
#ifndef DUEQ_PROTOCOL_GMQ_CALL_H
#define DUEQ_PROTOCOL_GMQ_CALL_H

#include <stdint.h>

#include <jansson.h>

#include "base/bytes.h"

#define GMQ_ID_MAX_BYTES 1024 /* of the request's "id", as it is echoed */

enum gmq_method { GMQ_PUSH, GMQ_POP, GMQ_ACK, GMQ_METHOD_COUNT };

struct gmq_call {
    enum gmq_method method;
    struct bytes id;      /* the request's: raw JSON, borrowed from the frame, or "null" */
    struct bytes job_id;  /* PUSH, ACK; borrowed from `tree`, like what follows */
    struct bytes topic;   /* PUSH */
    struct bytes body;    /* PUSH */
    int64_t delay_ms;     /* PUSH: 0 to QUEUE_DELAY_MAX_MS */
    int64_t ttr_ms;       /* PUSH: 0 to QUEUE_TTR_MAX_MS */
    struct bytes *topics; /* POP: the call's own array of borrowed names */
    unsigned topic_count; /* POP: 1 to QUEUE_TOPICS_PER_POP_MAX */
    const char *refusal;  /* static text: why the call is refused; NULL when it is good */
    struct bytes detail;  /* what the client wrote, to go behind the refusal; or empty */
    bool has_method;      /* `method` is known, even if the call is refused */
    json_t *tree;
    json_t *number; /* the job's id as text, when it came as a number */
};

/* Fills `call` in; gmq_call_fini is due whatever comes back. False: the frame is not JSON,
 * and the connection cannot be trusted any more. True: look at `refusal` first. */
bool gmq_call_parse(struct gmq_call *call, struct bytes frame);
void gmq_call_fini(struct gmq_call *call);

/* The raw text of the last member "id" of the object in `frame`; "null" without one. Safe
 * for any bytes, right for JSON. */
struct bytes gmq_raw_id(struct bytes frame);

#endif
