/* From Redis's answers to an op's outputs.
 *
 * Pure. Answers are not trusted: one that has not the script's form ends the op with
 * STORE_ERROR (a read) or UNKNOWN (a write), with its outputs untouched.
 */
#ifndef DUEQ_NODE_STORE_REDIS_DECODE_H
#define DUEQ_NODE_STORE_REDIS_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "node/store/op.h"
#include "node/store/redis/wire/reply.h"

#define REPLY_ITEMS_MAX  1000 /* what one script moves at most */
#define REPLY_NEW_ID_MAX 24   /* bytes of an id that the store has made: a number */

/* Where arrays of outputs are kept until on_done has returned: the one of the op's verb. */
struct reply_room {
    union {
        struct job jobs[OP_ITEMS_MAX];
        struct job_row rows[OP_LIST_MAX];
        struct {
            int64_t lateness_ms[REPLY_ITEMS_MAX];
            struct job popped[OP_ITEMS_MAX];
        } scan;
        struct topic_count topics[OP_TOPICS_MAX];
        struct settings_row settings[OP_ROWS_MAX]; /* SETTINGS, CONFIGURE, PLACES */
        struct history_item items[OP_RECORDS_MAX];
        struct suspect suspects[OP_LIST_MAX];
        struct note notes[OP_NOTES_MAX];
        struct worker_beat beats[OP_BEATS_MAX];
        struct identity_row identities[OP_IDENTITY_ROWS_MAX];
    };
    size_t large_bytes; /* of the bodies, where it is REPLY_LARGE */
};

/* What scan.lua answers behind the head, in this order. The script has the same names: the
 * build counts them there (lua/embed.cmake). */
enum scan_field {
    SCAN_MOVED = REPLY_HEAD, /* each is due, timed out, expired or pruned */
    SCAN_TIMED_OUT,          /* reservations that ran out */
    SCAN_TRIES_DIED,         /* of them: dead, because their tries are used up */
    SCAN_EXPIRED_DIED,       /* dead for their ttl */
    SCAN_PRUNED,             /* dead ones that were deleted */
    SCAN_NEXT_MS,            /* to the next event; 0: more is due now; -1: there is none */
    SCAN_STUCK,              /* topics left alone */
    SCAN_WRONG,              /* what is wrong with the first of them; "": none is */
    /* With a share, of locks: */
    SCAN_TAKEN,      /* that were free */
    SCAN_TAKEN_OVER, /* from an older view */
    SCAN_STOLEN,     /* of those that were free */
    SCAN_CONFLICTS,
    SCAN_FIELDS_END
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

/* The same for one of the `count` ops of a call of several: the `i`-th. The event that the call
 * made the topic's first is told once, as the first one's wait_ms. */
enum reply_meaning reply_decode_one(const struct redisReply *reply, unsigned i, unsigned count,
                                    struct op *op) MUST_CHECK;

/* A topic's lock, as topics.lua shows it. Nobody's where `packed` is "", over by `now_ms`, or
 * not ours. The node's name is borrowed from `packed`. */
struct topic_lock lock_unpack(struct bytes packed, int64_t now_ms);

/* The highest counter value that an answered op shows: a stamp, or the base of a server's id;
 * 0 when none does. */
int64_t reply_counter(const struct op *op, unsigned buckets);

#endif
