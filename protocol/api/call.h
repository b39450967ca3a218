/* A request that is one operation: handed to the queue, answered with what came of it.
 *
 * The operation borrows from the exchange, which lives until it is answered; that is once the
 * queue is through with it, whatever becomes of the client.
 */
#ifndef DUEQ_PROTOCOL_API_CALL_H
#define DUEQ_PROTOCOL_API_CALL_H

#include "node/store/op.h"
#include "protocol/api/decode.h"
#include "protocol/http/exchange.h"

#define API_WAIT_MAX_MS 3600000 /* of a long poll */

/* Submits a copy of `op`; its topic is the path's. `answer` is called when it went well, and
 * answers; all else is answered by its status. */
void api_call(struct exchange *x, const struct op *op,
              void (*answer)(struct exchange *x, const struct op *op));

/* Answers it so. Of a bucket that is not reached while others are, it says which, and why. */
void api_reply_failure(struct exchange *x, const struct op *op);

/* 204: done, and nothing to say. */
void api_answer_nothing(struct exchange *x, const struct op *op);

/* The body, as JSON. False: it is none, that was answered, and the exchange is gone. */
bool api_read_body(struct exchange *x, struct bytes *value);

/* No body is wanted, and none that says anything came. False: one did, as above. */
bool api_expect_nothing(struct exchange *x);

/* Answers a request that the codec has refused. */
void api_refuse(struct exchange *x, enum status status, const struct api_why *why);

/* Which of `words` (NULL: a gap) the parameter is. False: none of them, or it was not given;
 * that was answered, and the exchange is gone. */
bool api_query_word(struct exchange *x, const char *name, const char *const *words,
                    unsigned count, unsigned *out);

/* A request that is many operations, each with a result of its own, all in flight together:
 * each succeeds or fails alone. Their results are written as they come, in whatever order, and
 * put into {"results":[...]} in theirs when the last is there.
 *
 *   b = batch_new(x, count, add);
 *   batch_submit or batch_refuse, at most `count` times;
 *   batch_end(b);                       x is answered, now or later
 */

struct batch;

/* `add` writes what came of an operation that went well. */
struct batch *batch_new(struct exchange *x, unsigned count,
                        void (*add)(struct buf *out, const struct op *op));

/* Submits a copy of `op`; its topic is the path's. */
void batch_submit(struct batch *b, const struct op *op);

/* Instead: the codec has refused it. */
void batch_refuse(struct batch *b, enum status status, const struct api_why *why);
void batch_end(struct batch *b);

#endif
