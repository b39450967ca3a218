/* A job as the store keeps it: a packed header of 24 bytes, optional parts, the body.
 *
 * Every transition rewrites the header. The header's state says where the job is; the key of
 * that place gives only the order. Pure: bytes in, struct out.
 *
 *   offset  bytes  field (big-endian)
 *        0      1  state in the low 3 bits, flags above
 *        1      2  tries: deliveries that reached their consumer (stays at 65535)
 *        3      4  TTR, ms
 *        7      6  due, ms since 1970 on Redis's clock; for a ready job: when it became due
 *       13      6  stamp: number of this stay in its place, see below
 *       19      5  delay it was pushed with, ms; JOB_COUNTED, above all delays: its body counts
 *                  for its topic's max_bytes
 *       24     22  with RULES: see below
 *       46      n  with RULES that say so, EXTRA: see below
 *        .   1, n  with HOLDER: length and name of who had it last, for people
 *        .      .  the body, but with BIG
 *
 * 24 bytes and a body of 100 fill an allocation class of Redis (128) to the last byte; one
 * byte more costs 32. A field that only some jobs have goes behind a flag, not into every
 * header.
 *
 * Stamp: drawn from the bucket's counter whenever the job becomes ready or is reserved, so
 * it never repeats.
 *   - Reserved: the number itself. (id, stamp) is the lease.
 *   - Ready: a key by which the jobs of one priority are served, smallest first: JOB_KEY_MIDDLE
 *     + number for one that comes last, JOB_KEY_MIDDLE - number for one that comes first. An
 *     entry of the ready list whose key is not the job's is a tombstone. A job that is served
 *     by its id has the same key in each stay.
 *   - Dead: the reason, an enum death.
 *   - Delayed: 0.
 */
#ifndef DUEQ_NODE_STORE_JOB_H
#define DUEQ_NODE_STORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/attributes.h"

/* The rules a job goes by: what may be given at its push, beside body, time and TTR.
 *
 * Most jobs have default rules only, and are stored without: they pay nothing. Otherwise the
 * rules stand in a block of 22 bytes behind the header.
 *
 *   offset  bytes  field (big-endian)
 *        0      4  priority
 *        4      2  max_tries
 *        6      1  kind of backoff; RULES_EXTRA: an EXTRA block follows
 *        7      1  jitter, percent
 *        8      4  backoff's base, ms
 *       12      4  backoff's cap, ms
 *       16      6  expires, ms since 1970 on Redis's clock; 0: never
 *
 * Pure.
 */

#define RULES_BYTES            22
#define RULES_KIND_AT          6
#define RULES_EXTRA            0x80
#define BACKOFF_BYTES          10 /* of them, from kind to cap */
#define RULES_PRIORITY_DEFAULT 1024
#define RULES_PRIORITY_MAX     UINT32_MAX
#define RULES_TRIES_MAX        65534               /* one less than a header can count */
#define RULES_BACKOFF_MAX_MS   INT64_C(2592000000) /* 30 days: base and cap */

/* How long a job rests before its next try. */
enum backoff_kind {
    BACKOFF_NONE = 0,
    BACKOFF_FIXED = 1,       /* base each time */
    BACKOFF_EXPONENTIAL = 2, /* base, twice base, four times base */
};

struct backoff {
    enum backoff_kind kind;
    unsigned jitter_percent; /* 0 to 100: so much more or less, drawn from the stamp */
    int64_t base_ms;         /* 1 to RULES_BACKOFF_MAX_MS; 0 for NONE */
    int64_t cap_ms;          /* before the jitter; 0: RULES_BACKOFF_MAX_MS */
};

struct job_rules {
    uint32_t priority;  /* 0 is the most urgent */
    unsigned max_tries; /* deliveries that may end without an acknowledgement; 0: any number */
    struct backoff backoff;
    int64_t expires_ms; /* the job dies then, in any state; 0: never */
};

extern const struct job_rules rules_default;
bool rules_are_default(const struct job_rules *rules);
void rules_pack(const struct job_rules *rules, char packed[RULES_BYTES]);

/* From RULES_BYTES bytes. False: not written by dueq; `rules` is untouched then. */
bool rules_unpack(const char *packed, struct job_rules *rules);

/* The bytes of the backoff alone, which a topic's settings have too; as rules_pack and
 * rules_unpack. */
void backoff_pack(const struct backoff *backoff, char packed[BACKOFF_BYTES]);
bool backoff_unpack(const char *packed, struct backoff *backoff);

/* How long the job rests after its try number `tries` (from 1 on), 0: not at all. `stamp` is
 * that of the ended lease; both stores draw the same jitter from it: k = stamp mod 2001 * 7919
 * mod 2001; floor(rest * (100000 + jitter * (k - 1000)) / 100000). All of it is exact in the
 * doubles of a script. */
int64_t backoff_rest_ms(const struct backoff *backoff, unsigned tries, int64_t stamp);

/* What only jobs of some dialects have: counters, attributes, and an order of their own.
 *
 * A job that asks for it at its push has the block behind its rules (which it has then, were
 * they default ones). All others pay nothing.
 *
 *   offset  bytes  field (big-endian)
 *        0      2  bytes of the block, with these two
 *        2      6  by id: its key whenever it is ready; else 0
 *        8      6  created, ms since 1970 on Redis's clock
 *       14      2  reserves, and so on: the counters stay at 65535
 *       16      2  timeouts
 *       18      2  releases
 *       20      2  buries
 *       22      2  kicks
 *       24      .  attributes (node/store/attributes.h)
 *
 * By id: the jobs of a priority are served in the order in which they were pushed, however
 * often they come back. The key is JOB_KEY_MIDDLE + a number of the bucket's counter that the
 * push drew: the one in the job's id, where the store has made that.
 */

#define EXTRA_BYTES     24 /* without attributes */
#define EXTRA_BYTES_MAX (EXTRA_BYTES + ATTRIBUTES_MAX_BYTES)
#define EXTRA_COUNT_MAX 65535

struct job_extra {
    bool is_there; /* else all of it is zero */
    bool by_id;
    int64_t created_ms; /* Redis's clock */
    unsigned reserves;  /* confirmed deliveries; unlike tries never reset */
    unsigned timeouts, releases, buries, kicks;
    struct bytes attributes; /* packed; borrowed, see where the job came from */
};

/* The block of a push, which the store completes; `to` has room for EXTRA_BYTES and the
 * attributes. Returns its bytes. */
size_t extra_pack(const struct job_extra *extra, char *to);

/* An id that the store gives is n * buckets + bucket, in decimal, with so many n for each ms
 * since then (2026-01-01); a busy bucket runs ahead. */
#define JOB_ID_EPOCH_MS INT64_C(1767225600000)
#define JOB_IDS_PER_MS  32

#define JOB_HEADER_BYTES 24
#define JOB_TRIES_MAX    65535
#define JOB_STAMP_MAX    ((INT64_C(1) << 47) - 1) /* of a lease */
#define JOB_KEY_MIDDLE   (INT64_C(1) << 47)
#define JOB_DELAY_MAX_MS (INT64_C(4294967295) * 1000)
#define JOB_COUNTED      (INT64_C(1) << 39)
#define JOB_DELAY_KEPT_MAX_MS \
    (JOB_COUNTED - 1)           /* a longer delay stands as this in the header */
#define JOB_FLAG_BIG       0x08 /* the body is in the topic's payload hash, not behind the header */
#define JOB_FLAG_INDEXED   0x10 /* the bucket's index of ids has an entry for it */
#define JOB_FLAG_CONFIRMED 0x20 /* reserved, and its consumer has it: see doc/store.md */
#define JOB_FLAG_RULES     0x40 /* its rules are behind the header */
#define JOB_FLAG_HOLDER    0x80 /* its last holder's name is behind header and rules */
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
    int64_t delay_ms; /* as pushed, at most JOB_DELAY_KEPT_MAX_MS */
    int64_t ttr_ms;
    int64_t stamp;    /* 0: delayed or dead */
    unsigned tries;   /* confirmed deliveries so far */
    enum death death; /* of the dead only */
    struct job_rules rules;
    struct job_extra extra;
};

/* "tries", "expired"; "" for DEATH_NONE. */
const char *death_word(enum death death);

/* The stable word for people and the wire: "delayed", "ready", "reserved", "dead". */
const char *job_state_word(enum job_state state);

/* Without flags: a job without rules and holder is stored as this header and its body. */
void job_pack_header(const struct job *job, char header[JOB_HEADER_BYTES]);

/* Reads all of a packed value; `id` is the caller's to set. Body, holder and attributes borrow
 * from `packed`. STORE_ERROR when it is too short or its state unknown: then the value was
 * not written by dueq, and `job` is untouched. */
enum status job_unpack(struct bytes packed, struct job *job) MUST_CHECK;

#endif
