#include "node/queue/repair_log.h"

#include "base/log.h"

void repair_log_init(struct repair_log *log)
{
    *log = (struct repair_log){.since_mono_ms = -REPAIR_LOG_MS};
}

void repair_log_tick(struct repair_log *log, int64_t now_mono_ms)
{
    if (now_mono_ms - log->since_mono_ms < REPAIR_LOG_MS)
        return;
    if (log->unsaid > 0)
        LOG_WARN("reconciler", "repaired %u more that are not named here", log->unsaid);
    *log = (struct repair_log){.since_mono_ms = now_mono_ms};
}

void repair_log_say(struct repair_log *log, struct bytes topic, struct bytes id,
                    enum damage damage, int64_t now_mono_ms)
{
    repair_log_tick(log, now_mono_ms);
    if (log->said >= REPAIR_LOG_LINES) {
        log->unsaid++;
        return;
    }
    log->said++;
    if (id.len)
        LOG_WARN("reconciler", "repaired job %.*s of topic %.*s: %s", BYTES_ARG(id),
                 BYTES_ARG(topic), damage_word(damage));
    else
        LOG_WARN("reconciler", "repaired topic %.*s: %s", BYTES_ARG(topic),
                 damage_word(damage));
}
