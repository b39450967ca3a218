/* Log lines about Redis, throttled: its answers, and the store's state.
 */
#ifndef DUEQ_NODE_STORE_REDIS_THROTTLE_H
#define DUEQ_NODE_STORE_REDIS_THROTTLE_H

#include <stdint.h>

#include "base/log.h"
#include "base/timer.h"
#include "node/store/op.h"
#include "node/store/redis/options.h"
#include "node/store/redis/rollback.h"

/* Log lines about the store's state.
 *
 * "up, but hears no wake-ups" comes with each loss and each new connection, because one of the
 * two links is always the first: it is logged only when it lasts. A state is not logged twice
 * in a row.
 */

struct redis_state_log {
    struct timers *timers;
    struct timer timer;
    const char *where; /* the Redis that is, or was, up; borrowed */
    enum redis_store_state state, said;
    enum log_level level;
};

void redis_state_log_init(struct redis_state_log *l, struct timers *timers, const char *where);
void redis_state_log_fini(struct redis_state_log *l);
void redis_state_log_turned(struct redis_state_log *l, enum redis_store_state state,
                            enum log_level level);

/* Log lines about Redis's answers. Errors come by the thousand: the first is logged, then only
 * how many there were. Every scan finds wrong data in a bucket again: it is logged once, and
 * again where it is still there an hour later.
 */

/* What was logged of a bucket last. */
struct redis_said {
    char wrong[112]; /* its beginning; "": nothing yet */
    int64_t said_mono_ms;
};

/* All zero at first. */
struct redis_throttle {
    int64_t quiet_until_mono_ms;
    unsigned unsaid; /* errors since the last line */
    struct redis_said buckets[REDIS_MARKS_BUCKETS_MAX];
    struct redis_said topics[REDIS_MARKS_BUCKETS_MAX]; /* the last topic of each bucket */
};

/* `op` was answered with this error. Where the leader's op names what is wrong in the bucket,
 * the line does, too, with what to do. */
void redis_throttle_error(struct redis_throttle *t, int64_t now_mono_ms, const struct op *op,
                          const char *error);

/* A scan was answered well; perhaps it left topics alone. */
void redis_throttle_scanned(struct redis_throttle *t, int64_t now_mono_ms,
                            const struct op *scan);

#endif
