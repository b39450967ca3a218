/* An answer of Redis: its memory, and its elements. What they mean for an op: decode.h.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLY_H
#define DUEQ_NODE_STORE_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/job.h"
#include "node/store/op.h"

/* The memory of a link's answers.
 *
 * hiredis by itself allocates each element of an answer twice, and frees them one by one. But
 * there is never more than one answer at a time: it is read, given to its callback and freed
 * before the next one is begun. So all of it lies in one block, which is used again.
 */

struct redisReader;
struct redis_replies;

struct redis_replies *redis_replies_new(void);
void redis_replies_free(struct redis_replies *r); /* NULL is fine */

/* The reader's answers are made in this memory. One reader at a time; free the reader first. */
void redis_replies_attach(struct redis_replies *r, struct redisReader *reader);

/* What was read is not needed any more. */
void redis_replies_forget(struct redis_replies *r);

/* Why what the reader has begun to read is no answer to wait for, for people; NULL: it may be
 * one. To be asked when the reader has no complete answer: only then is the memory of a
 * connection bounded, whatever Redis sends. Far above any answer of ours:
 *
 *   an array    2^20 elements; their memory is taken before they come
 *   a string    128 MiB: a body has 64 at most
 *   a line      64 KiB: an error, a number, the length of something
 *   an answer   160 MiB, all of its elements together
 */
const char *redis_replies_excess(const struct redis_replies *r,
                                 const struct redisReader *reader);

/* One element of an answer, checked. All return false, and leave their output alone, where
 * element `i` is missing, of another type, or out of its range.
 */

struct redisReply;

/* What a script's answer begins with. */
#define REPLY_HEAD 3

struct reply_head {
    int64_t code, now_ms, wait_ms;
};

/* Where it returns false, `head` means nothing. */
bool take_head(const struct redisReply *reply, int64_t code_max, struct reply_head *head);

bool take_number(const struct redisReply *reply, size_t i, int64_t min, int64_t max,
                 int64_t *number);

/* A time or a duration, no larger than a job's value has room for: two of them can be added
 * without overflow. */
bool take_ms(const struct redisReply *reply, size_t i, int64_t min, int64_t *ms);
bool take_unsigned(const struct redisReply *reply, size_t i, unsigned max, unsigned *number);
bool take_bool(const struct redisReply *reply, size_t i, bool *is);

/* Borrowed from the reply. */
bool take_bytes(const struct redisReply *reply, size_t i, struct bytes *bytes);
bool take_cursor(const struct redisReply *reply, size_t i, struct bytes *cursor);

/* A job's value, and behind it the body where that is big. Moves `i` to what follows; where it
 * returns false, `i` and `job` mean nothing any more. */
bool take_job(const struct redisReply *reply, size_t *i, struct job *job);

/* A job's value that was sent without its body. */
bool take_job_alone(const struct redisReply *reply, size_t i, struct job *job);

/* The answer of meta.lua; the key is borrowed from it. False: it is none, and `meta` means
 * nothing. */
struct reply_meta {
    int64_t schema, buckets; /* 0: what is there is no number */
    struct bytes lease_key;
    bool has_bare; /* see struct store_lease_key */
};

bool reply_read_meta(const struct redisReply *reply, struct reply_meta *meta) MUST_CHECK;

#endif
