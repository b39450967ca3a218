/* The lines of the log about what was mended: at most REPAIR_LOG_LINES in REPAIR_LOG_MS, and
 * then how many more there were. A damaged store has a million repairs to tell.
 */
#ifndef DUEQ_NODE_QUEUE_REPAIR_LOG_H
#define DUEQ_NODE_QUEUE_REPAIR_LOG_H

#include <stdint.h>

#include "base/bytes.h"
#include "node/store/op.h"

#define REPAIR_LOG_LINES 20
#define REPAIR_LOG_MS    60000

struct repair_log {
    unsigned said, unsaid; /* since then */
    int64_t since_mono_ms;
};

void repair_log_init(struct repair_log *log);

/* Of the topic itself: `id` is "". */
void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms);

/* Says how many more there were, if it is time. */
void repair_log_tick(struct repair_log *log, int64_t now_mono_ms);

#endif
