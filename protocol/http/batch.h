/* A request that is many operations, each with a result of its own, all in flight together:
 * each succeeds or fails alone. Their results are written as they come, in whatever order, and
 * put into {"results":[...]} in theirs when the last is there.
 *
 *   b = batch_new(x, count, add);
 *   batch_submit or batch_refuse, at most `count` times;
 *   batch_end(b);                       x is answered, now or later
 */
#ifndef DUEQ_PROTOCOL_HTTP_BATCH_H
#define DUEQ_PROTOCOL_HTTP_BATCH_H

#include "node/store/op.h"
#include "protocol/http/api_decode.h"
#include "protocol/http/exchange.h"

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
