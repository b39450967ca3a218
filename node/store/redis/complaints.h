/* What the log is told of Redis's answers. Errors come by the thousand: the first is said, then
 * only how many there were. What is wrong in the data of a bucket is found again with every
 * scan: it is said once, and again where it is still there an hour later.
 */
#ifndef DUEQ_NODE_STORE_REDIS_COMPLAINTS_H
#define DUEQ_NODE_STORE_REDIS_COMPLAINTS_H

#include <stdint.h>

#include "node/store/op.h"
#include "node/store/redis/past.h"

/* What was said of a bucket last. */
struct redis_complaint {
    char wrong[112]; /* its beginning; "": nothing yet */
    int64_t said_mono_ms;
};

/* All zero at first. */
struct redis_complaints {
    int64_t quiet_until_mono_ms;
    unsigned unsaid; /* errors since the last line */
    struct redis_complaint buckets[REDIS_PAST_BUCKETS_MAX];
    struct redis_complaint topics[REDIS_PAST_BUCKETS_MAX]; /* the last topic of each bucket */
};

/* `op` was answered with this error. Where it is the leader's and names what is wrong in the
 * bucket, so does the line, with what to do. */
void redis_complain_error(struct redis_complaints *c, int64_t now_mono_ms, const struct op *op,
                          const char *error);

/* Of a scan that was answered well; perhaps it left topics alone. */
void redis_complain_scanned(struct redis_complaints *c, int64_t now_mono_ms,
                            const struct op *scan);

#endif
