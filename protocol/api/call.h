/* A request that is one operation: handed to the queue, answered with its result.
 *
 *     static void on_found(struct op *op)
 *     {
 *         struct exchange *x = api_done(op);
 *
 *         if (x)
 *             exchange_reply...(x, ..., op->out...);
 *     }
 *
 * The operation borrows from the exchange. The exchange lives until its answer, which comes
 * after the operation's end, whatever becomes of the client.
 */
#ifndef DUEQ_PROTOCOL_API_CALL_H
#define DUEQ_PROTOCOL_API_CALL_H

#include "node/store/op.h"
#include "protocol/api/decode.h"
#include "protocol/http/exchange.h"

#define API_WAIT_MAX_MS 3600000 /* of a long poll */

/* Submits a copy of `op` with the path's topic. `on_done` comes when it has ended. */
void api_call(struct exchange *x, const struct op *op, void (*on_done)(struct op *op));

/* Call first in `on_done`. NULL: the operation did not end OK; that was answered, and `op` is
 * gone. Else the exchange is still to be answered; `op` goes with it. */
struct exchange *api_done(struct op *op);

/* Answers with the status of `op`, which is not OK. Where only its bucket is unreached, the
 * text says which one, and why. */
void api_reply_failure(struct exchange *x, const struct op *op);

/* An `on_done` that answers 204: done, and nothing to say. */
void api_on_done_nothing(struct op *op);

/* The body, as JSON. False: it is not JSON; that was answered, and the exchange is gone. */
bool api_read_body(struct exchange *x, struct bytes *value);

/* Expects no body, or one that says nothing. False: as above. */
bool api_expect_nothing(struct exchange *x);

/* Answers a request that the codec has refused. */
void api_refuse(struct exchange *x, enum status status, const struct api_why *why);

/* The index of the parameter's value in `words` (NULL: a gap). False: none of them, or not
 * given; that was answered, and the exchange is gone. */
bool api_query_word(struct exchange *x, const char *name, const char *const *words,
                    unsigned count, unsigned *out);

/* A request of many operations, all in flight together: each succeeds or fails alone. The
 * results are written as they come, in any order; when the last is there, {"results":[...]} has
 * them in the order of the request.
 *
 *   b = batch_new(x, count, add);
 *   batch_submit or batch_refuse, at most `count` times;
 *   batch_end(b);                       x is answered, now or later
 */

struct batch;

/* `add` writes the result of an operation that ended OK. */
struct batch *batch_new(struct exchange *x, unsigned count,
                        void (*add)(struct buf *out, const struct op *op));

/* Submits a copy of `op`; its topic is the path's. */
void batch_submit(struct batch *b, const struct op *op);

/* In place of batch_submit(), for an operation that the codec has refused. */
void batch_refuse(struct batch *b, enum status status, const struct api_why *why);
void batch_end(struct batch *b);

#endif
