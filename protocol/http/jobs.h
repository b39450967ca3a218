/* What handlers ask of the engine, whatever their dialect: an operation on a job, a pop, or an
 * acknowledgement by an id alone.
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
    void (*add)(struct buf *out, const struct op *op); /* the caller's, as it was given: what
                                                        * the native API adds to its reply */
    bool left_rival;                                   /* of http_push_over(), see there */
};

/* Submits a copy of `op`, for the exchange's client. Its id, and a push's attributes, are
 * copied, too. */
void http_submit(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                 void (*add)(struct buf *out, const struct op *op));

/* The same for clients that have no topic, but only op->id: that of the job with this id, of
 * those whose topics are the client's. Such an id is found where its push was indexed (see
 * queue_find()). NOT_FOUND also where there is none; FORBIDDEN where the identity has gone
 * while it was looked for. In `on_done` the op has the topic. */
void http_submit_by_id(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                       void (*add)(struct buf *out, const struct op *op));

/* A push to clients for whom an id is of one job in all topics: a job of this id goes, wherever
 * it is. In another topic that cannot be one step with the push, so it is cancelled behind it:
 * a push that is refused costs no job, and a node that dies in between leaves both. `op` is a
 * PUSH with an id.
 *
 * It cancels only the job that it has seen before the push. Else two such pushes at once, to
 * two topics, could cancel each other's; so both may stay. Where the push has happened and the
 * other job may be there still, it ends UNKNOWN with `left_rival`; a repetition finds that
 * job, unless both topics are in one bucket, which knows the newer one by its id. */
void http_push_over(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                    void (*add)(struct buf *out, const struct op *op));

/* What clients are told where `left_rival`. */
#define HTTP_LEFT_RIVAL                                                                       \
    "the job is pushed, but an older one with its id, in another topic, may be there still: " \
    "push again"

/* In `on_done`: the call that the op belongs to. */
static inline struct http_call *http_call_of(struct op *op)
{
    return CONTAINER_OF(op, struct http_call, op);
}

/* ---- an acknowledgement by an id alone ---- */

/* As queue_ack_by_id() has it, for a job of the client's topics. */
void http_ack_by_id(struct exchange *x, struct bytes id, void (*on_done)(struct id_ack *ack));

/* In `on_done`: the exchange that the acknowledgement belongs to. */
struct exchange *http_ack_exchange(struct id_ack *ack);

/* ---- a pop ---- */

struct http_popping {
    struct exchange *x;
    void (*on_done)(struct exchange *x, struct pop *pop);
    struct pop pop;
    struct buf text;   /* the handler's, empty at first; it has to end it */
    unsigned answered; /* jobs of this exchange's pops, with those of the one that is done */
    struct bytes topics[];
};

/* `topics`: one, or several with commas between; copied. OUT_OF_RANGE at once where they are
 * more than a pop may have, and nothing else happens; else OK. `ask`: its count, wait_ms, ttr
 * and id_only count; the holder is the exchange's client.
 *
 * In `on_done` the pop's outputs are there; with OK the reply carries its delivery already. */
enum status http_pop(struct exchange *x, struct bytes topics, const struct pop *ask,
                     void (*on_done)(struct exchange *x, struct pop *pop)) MUST_CHECK;

/* In `on_done`: the popping that the pop belongs to. */
static inline struct http_popping *http_popping_of(struct pop *pop)
{
    return CONTAINER_OF(pop, struct http_popping, pop);
}

/* In `on_done` with OK, for a client that wants more than one pop brings: asks for up to
 * `count` more of the same topic without waiting, and `on_done` comes again. All jobs go out
 * in the one reply. At most EXCHANGE_DELIVERIES_MAX pops with jobs. */
void http_pop_more(struct pop *pop, unsigned count);

#endif
