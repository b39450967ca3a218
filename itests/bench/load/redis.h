/* The store's scripts, straight to Redis: one blocking connection with many commands in
 * flight. hiredis sends what has been appended when it has to wait for an answer, so the
 * commands travel in as few writes as they can. */
#ifndef DUEQ_ITESTS_BENCH_LOAD_REDIS_H
#define DUEQ_ITESTS_BENCH_LOAD_REDIS_H

#include "itests/bench/load/options.h"
#include "node/store/op.h"

struct redisReply;

/* The supply is there already. */
void redis_open(const struct options *o);
void redis_close(void);

unsigned redis_bucket_of(unsigned topic);

/* Sets topic and bucket. */
void redis_set_topic(struct op *op, unsigned topic);

/* A push of body_bytes; `id` is borrowed, empty for one of the store's own. */
void redis_fill_in_push(struct op *op, struct bytes id);

/* Puts the operation into the pipeline. */
void redis_append(const struct op *op);

/* The oldest answer, decoded into `op`, which holds the operation it belongs to. Outputs are
 * valid until the next call. Anything but OK ends the program. */
void redis_take(struct op *op);

/* Plain commands in the same pipeline; any answer but an error will do. */
void redis_append_command(int argc, const char **argv, const size_t *lens);
void redis_append_text(const char *format, ...);
void redis_take_plain(void);

#endif
