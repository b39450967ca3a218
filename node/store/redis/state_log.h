/* What the log is told of the store's state.
 *
 * "up, but hears no wake-ups" is passed through with each loss and each new connection, because
 * one of the two links is always the first: it is said only when it lasts. What has been said
 * already is not said again.
 */
#ifndef DUEQ_NODE_STORE_REDIS_STATE_LOG_H
#define DUEQ_NODE_STORE_REDIS_STATE_LOG_H

#include "base/log.h"
#include "base/timer.h"
#include "node/store/redis/store.h"

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

#endif
