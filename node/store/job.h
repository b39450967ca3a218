/* A job as the store keeps it: a packed header of 24 bytes, what only some jobs have, the body.
 *
 * The header is what every transition rewrites; where the job is (its state) is in it, and
 * the place's own key only says in which order. Pure: bytes in, struct out.
 *
 *   offset  bytes  field (big-endian)
 *        0      1  state in the low 3 bits, flags above
 *        1      2  tries: deliveries that reached their consumer (stays at 65535)
 *        3      4  TTR, ms
 *        7      6  due, ms since 1970 on Redis's clock; for a ready job: when it became due
 *       13      6  stamp: number of this stay in its place, see below
 *       19      5  delay it was pushed with, ms
 *       24     22  with RULES: see rules.h
 *        .   1, n  with HOLDER: length and name of who had it last, for people
 *        .      .  the body, but with BIG
 *
 * 24 bytes and a body of 100 fill an allocation class of Redis (128) to the last byte; one
 * byte more costs 32. What only some jobs have goes behind a flag, not into every header.
 *
 * Stamp: drawn from the bucket's counter whenever the job becomes ready or is reserved, so
 * it never repeats.
 *   - Reserved: the number itself. (id, stamp) is the lease.
 *   - Ready: a key by which the jobs of one priority are served, smallest first: JOB_KEY_MIDDLE
 *     + number for one that comes last, JOB_KEY_MIDDLE - number for one that comes first. An
 *     entry of the ready list whose key is not the job's is a tombstone.
 *   - Dead: the reason, an enum death.
 *   - Delayed: 0.
 */
#ifndef DUEQ_NODE_STORE_JOB_H
#define DUEQ_NODE_STORE_JOB_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/rules.h"

#define JOB_HEADER_BYTES   24
#define JOB_TRIES_MAX      65535
#define JOB_STAMP_MAX      ((INT64_C(1) << 47) - 1) /* of a lease */
#define JOB_KEY_MIDDLE     (INT64_C(1) << 47)
#define JOB_DELAY_MAX_MS   (INT64_C(3650) * 86400000)
#define JOB_FLAG_BIG       0x08 /* the body is in the topic's payload hash, not behind the header */
#define JOB_FLAG_OWNED     0x10 /* the bucket's owners may have an entry for it */
#define JOB_FLAG_CONFIRMED 0x20 /* reserved, and its consumer has it: see doc/store.md */
#define JOB_FLAG_RULES     0x40 /* its rules are behind the header */
#define JOB_FLAG_HOLDER    0x80 /* who had it last stands behind header and rules */
#define JOB_STATE_MASK     0x07
#define JOB_HOLDER_MAX     96 /* bytes of a holder's name */

enum job_state {
    JOB_DELAYED = 1,
    JOB_READY = 2,
    JOB_RESERVED = 3,
    JOB_DEAD = 4,
};

/* clang-format off */
/*    name     word */
#define DEATH_LIST(X)                                                                        \
    X(NONE,    "")                                                                           \
    X(TRIES,   "tries")   /* max_tries deliveries ended without an acknowledgement        */ \
    X(EXPIRED, "expired") /* its ttl was over                                             */ \
    X(BURIED,  "buried")  /* its holder said so                                           */ \
    X(DAMAGED, "damaged") /* its body was lost from Redis: a repair put it there          */
/* clang-format on */

enum death {
#define X(name, word) DEATH_##name,
    DEATH_LIST(X)
#undef X
        DEATH_COUNT
};

struct job {
    struct bytes id;     /* borrowed, see where the job came from */
    struct bytes body;   /* borrowed, the same */
    struct bytes holder; /* borrowed, the same; "" when nobody ever had it */
    enum job_state state;
    int64_t due_ms;   /* Redis's clock */
    int64_t delay_ms; /* as pushed */
    int64_t ttr_ms;
    int64_t stamp;    /* 0: delayed or dead */
    unsigned tries;   /* confirmed deliveries so far */
    enum death death; /* of the dead only */
    struct job_rules rules;
};

/* "tries", "expired"; "" for DEATH_NONE. */
const char *death_word(enum death death);

/* The stable word for people and the wire: "delayed", "ready", "reserved", "dead". */
const char *job_state_word(enum job_state state);

/* Without flags: the value of a job without rules and holder is this and its body. */
void job_pack_header(const struct job *job, char header[JOB_HEADER_BYTES]);

/* Reads all of a packed value; `id` is the caller's to set. Body and holder borrow from
 * `packed`. STORE_ERROR when it is too short or its state unknown: then the value was
 * not written by dueq, and `job` is untouched. */
enum status job_unpack(struct bytes packed, struct job *job) MUST_CHECK;

#endif
