/* One gmq request, from its bytes: {"method","params":[x],"id"}. Pure.
 *
 * Parsing copies nothing: the call borrows from the frame, in which strings are unescaped in
 * place. A call that lives longer than the frame takes along what it needs and no more: a
 * request may be large, and say little.
 *
 * gmq is written in Go and reads JSON as Go does: the names of members in any case, the last
 * of two equal ones, null like a missing one. Its clients rely on more: numbers as strings,
 * a list around a single topic. All of that is accepted. What cannot be meant (a negative
 * delay, half a second, a century) is refused, never guessed; only what is no number at all
 * counts as 0, as it does in gmq.
 */
#ifndef DUEQ_PROTOCOL_GMQ_CALL_H
#define DUEQ_PROTOCOL_GMQ_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define GMQ_ID_MAX_BYTES 1024 /* of the request's "id", as it is echoed */

enum gmq_method { GMQ_PUSH, GMQ_POP, GMQ_ACK, GMQ_METHOD_COUNT };

struct gmq_call {
    enum gmq_method method;
    bool has_method;      /* `method` is known, even if the call is refused */
    struct bytes id;      /* the request's, raw: echoed as it is; or "null" */
    struct bytes job_id;  /* PUSH, ACK */
    struct bytes topic;   /* PUSH */
    struct bytes body;    /* PUSH */
    int64_t delay_ms;     /* PUSH: 0 to QUEUE_DELAY_MAX_MS */
    int64_t ttr_ms;       /* PUSH: 0 to QUEUE_TTR_MAX_MS */
    struct bytes *topics; /* POP: the call's own array */
    unsigned topic_count; /* POP: 1 to QUEUE_TOPICS_PER_POP_MAX */
    const char *refusal;  /* static text: why the call is refused; NULL when it is good */
    struct bytes detail;  /* what the client wrote, to go behind the refusal; or empty */
};

/* Fills `call` in; gmq_call_fini is due whatever comes back. `frame` is a run of bytes that
 * the scanner found; it is changed, and belongs to the call until then. False: it is not
 * JSON, and the connection cannot be trusted any more. True: look at `refusal` first. */
bool gmq_call_parse(struct gmq_call *call, char *frame, size_t len);

/* Copies what a good call borrows to `room`, gmq_call_bytes() long, and borrows from there
 * from now on. */
size_t gmq_call_bytes(const struct gmq_call *call);
void gmq_call_move(struct gmq_call *call, char *room);

void gmq_call_fini(struct gmq_call *call);

#endif
