/* What handlers ask of the engine, whatever their dialect: an operation on a job, or a pop.
 *
 * An exchange has one of them at a time. They keep their state with exchange_keep(), and answer
 * later, from the loop, exactly once; then the exchange is to be answered, or asks again. What
 * they borrow lies in the exchange (its parts, its body), or is static.
 *
 * A client that leaves before an operation was sent spares it (queue_abandon()); one that waits
 * for a job and leaves, or whose identity has gone or changed meanwhile, gets none.
 */
#ifndef DUEQ_PROTOCOL_HTTP_JOBS_H
#define DUEQ_PROTOCOL_HTTP_JOBS_H

#include "node/queue/queue.h"
#include "protocol/http/exchange.h"

/* ---- an operation ---- */

struct http_call {
    struct op op;
    struct exchange *x;
    void (*add)(struct buf *out, const struct op *op); /* the caller's, as it was given */
};

/* Submits a copy of `op`, for the exchange's client. */
void http_submit(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                 void (*add)(struct buf *out, const struct op *op));

/* In `on_done`: the call that the op belongs to. */
static inline struct http_call *http_call_of(struct op *op)
{
    return CONTAINER_OF(op, struct http_call, op);
}

/* ---- a pop ---- */

/* `topics`: one, or several with commas between. OUT_OF_RANGE at once where they are more than
 * a pop may have, and nothing else happens; else OK. `ask`: its count, wait_ms, ttr, holder and
 * id_only count.
 *
 * In `on_done` the pop's outputs are there; with OK the reply carries its delivery already. */
enum status http_pop(struct exchange *x, struct bytes topics, const struct pop *ask,
                     void (*on_done)(struct exchange *x, struct pop *pop)) MUST_CHECK;

#endif
