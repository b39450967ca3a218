/* A request that is one operation, or many: handed to the queue, answered with the results.
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

/* Submits a copy of `op` with the path's topic. Answers 200 with the JSON that `add` writes of
 * its result; 204 where that is NULL. */
void api_ask(struct exchange *x, const struct op *op,
             void (*add)(struct buf *out, const struct op *op));

/* The same for other answers: `on_done` comes when the operation has ended. */
void api_call(struct exchange *x, const struct op *op, void (*on_done)(struct op *op));

/* Call first in `on_done`. NULL: the operation did not end OK; that was answered, and `op` is
 * gone. Else the exchange is still to be answered; `op` goes with it. */
struct exchange *api_done(struct op *op);

/* Answers with the status of `op`, which is not OK. Where only its bucket is unreached, the
 * text says which one, and why. */
void api_reply_failure(struct exchange *x, const struct op *op);

/* The body, as JSON. False: it is not JSON; that was answered, and the exchange is gone. */
bool api_read_body(struct exchange *x, struct bytes *value);

/* The inputs of `op`, from the body. False: as above. */
bool api_read_op(struct exchange *x, struct op *op,
                 enum status (*decode)(struct bytes object, struct op *op,
                                       struct api_why *why));

/* Expects no body, or one that says nothing. False: as above. */
bool api_expect_nothing(struct exchange *x);

/* Has the codec passed it? False: it has refused it; that was answered, and the exchange is
 * gone. */
bool api_passes(struct exchange *x, enum status status, const struct api_why *why);

/* The index of the parameter's value in `words` (NULL: a gap). False: none of them, or not
 * given; that was answered, and the exchange is gone. */
bool api_query_word(struct exchange *x, const char *name, const char *const *words,
                    unsigned count, unsigned *out);

/* A request of many operations, all in flight together: one for each of the `count` objects of
 * `list`, and each succeeds or fails alone. The results are written by `add` as they come, in
 * any order; when the last is there, {"results":[...]} has them in the order of the request. */
void api_ask_all(struct exchange *x, enum op_verb verb, struct bytes list, unsigned count,
                 enum status (*decode)(struct bytes object, struct op *op, struct api_why *why),
                 void (*add)(struct buf *out, const struct op *op));

#endif
