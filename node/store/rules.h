/* The rules a job goes by: what may be given at its push, beside body, time and TTR.
 *
 * Most jobs have none, and pay nothing for them: a job with the rules below as they are by
 * default is stored without. Otherwise they stand in a block of 22 bytes behind its header.
 *
 *   offset  bytes  field (big-endian)
 *        0      4  priority
 *        4      2  max_tries
 *        6      1  kind of backoff
 *        7      1  jitter, percent
 *        8      4  backoff's base, ms
 *       12      4  backoff's cap, ms
 *       16      6  expires, ms since 1970 on Redis's clock; 0: never
 *
 * Pure.
 */
#ifndef DUEQ_NODE_STORE_RULES_H
#define DUEQ_NODE_STORE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define RULES_BYTES            22
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
    int64_t expires_ms; /* goes to dead then, wherever it is; 0: never */
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
 * the lease's that ended; the jitter is drawn from it, so that both stores draw the same: k =
 * stamp mod 2001 * 7919 mod 2001; floor(rest * (100000 + jitter * (k - 1000)) / 100000). All of
 * it is exact in the doubles of a script. */
int64_t backoff_rest_ms(const struct backoff *backoff, unsigned tries, int64_t stamp);

#endif
