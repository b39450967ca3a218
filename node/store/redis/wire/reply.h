/* From Redis's answers to an op's outputs.
 *
 * Pure. Answers are not trusted: one that has not the script's form ends the op with
 * STORE_ERROR (a read) or UNKNOWN (a write), with its outputs untouched.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLY_H
#define DUEQ_NODE_STORE_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
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

/* One element of an answer, checked. For reply.c, reply_outputs.c and rollback.c.
 *
 * All return false, and leave their output alone, where element `i` is missing, of another
 * type, or out of its range.
 */

struct redisReply;
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
struct redisReply;

#define REPLY_ITEMS_MAX  1000 /* what one script moves at most */
#define REPLY_NEW_ID_MAX 24   /* bytes of an id that the store has made: a number */

/* Where arrays of outputs are kept until on_done has returned: the one of the op's verb. */
struct reply_room {
    union {
        struct job jobs[OP_ITEMS_MAX];
        struct job_row rows[OP_LIST_MAX];
        int64_t lateness_ms[REPLY_ITEMS_MAX];
        struct topic_count topics[OP_TOPICS_MAX];
        struct settings_row settings[OP_ROWS_MAX]; /* SETTINGS, CONFIGURE, PLACES */
        struct history_item items[OP_RECORDS_MAX];
        struct suspect suspects[OP_LIST_MAX];
    };
    size_t large_bytes; /* of the bodies, where it is REPLY_LARGE */
};

enum reply_meaning {
    REPLY_DONE,      /* status and outputs are set */
    REPLY_AGAIN,     /* a pop met tombstones only: send it again; wait_ms is set */
    REPLY_LARGE,     /* a pop or get did nothing: its bodies are larger than it allowed */
    REPLY_NO_SCRIPT, /* it did not run: send its text */
    REPLY_REFUSED,   /* an error, op->status is STORE_ERROR; the text is reply->str */
    REPLY_MALFORMED, /* not the script's form; op->status is set */
};

/* Outputs borrow from the reply, the room and the op's inputs. */
enum reply_meaning reply_decode(const struct redisReply *reply, struct op *op,
                                struct reply_room *room) MUST_CHECK;

/* The integers of a handshake script's answer after {code, now, wait}; false when it is not
 * of that form. */
bool reply_read_numbers(const struct redisReply *reply, int64_t *numbers,
                        unsigned count) MUST_CHECK;

/* The highest counter value that an answered op shows: a stamp, or the base of a server's id;
 * 0 when none does. */
int64_t reply_counter(const struct op *op, unsigned buckets);

#endif
