/* One element of an answer, if it is what it should be. For whoever reads replies: reply.c,
 * reply_outputs.c, older.c.
 *
 * All return false, and leave their output alone, where element `i` is missing, of another
 * type, or out of its range.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLY_ELEMENTS_H
#define DUEQ_NODE_STORE_REDIS_REPLY_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/job.h"

struct redisReply;

bool take_number(const struct redisReply *reply, size_t i, int64_t min, int64_t max,
                 int64_t *number);

/* A time or a duration, as large as there is room for in a job's value. So it can be added to
 * another without a thought. */
bool take_ms(const struct redisReply *reply, size_t i, int64_t min, int64_t *ms);
bool take_unsigned(const struct redisReply *reply, size_t i, unsigned max, unsigned *number);
bool take_bool(const struct redisReply *reply, size_t i, bool *is);

/* Borrowed from the reply. */
bool take_bytes(const struct redisReply *reply, size_t i, struct bytes *bytes);
bool take_cursor(const struct redisReply *reply, size_t i, struct bytes *cursor);

/* A job's value, and where it is big the body behind it. Moves `i` to what follows; where it
 * returns false, `i` and `job` mean nothing any more. */
bool take_job(const struct redisReply *reply, size_t *i, struct job *job);

/* A job's value that was sent without its body. */
bool take_job_alone(const struct redisReply *reply, size_t i, struct job *job);

#endif
