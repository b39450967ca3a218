#include "node/store/redis/complaints.h"

#include "base/log.h"

#define QUIET_MS       1000
#define STUCK_QUIET_MS 60000

void redis_complain_error(struct redis_complaints *c, int64_t now_mono_ms, enum op_verb verb,
                          const char *error)
{
    if (now_mono_ms < c->quiet_until_mono_ms) {
        c->unsaid++;
        return;
    }
    if (c->unsaid)
        LOG_WARN("redis", "%u more errors were not logged", c->unsaid);
    LOG_WARN("redis", "%s: %s", op_word(verb), error);
    c->quiet_until_mono_ms = now_mono_ms + QUIET_MS;
    c->unsaid = 0;
}

void redis_complain_stuck(struct redis_complaints *c, int64_t now_mono_ms,
                          const struct op *scan)
{
    if (scan->out.scan.stuck == 0 || now_mono_ms < c->stuck_quiet_until_mono_ms)
        return;
    LOG_ERROR("redis", "nothing becomes due in %u topic(s) of bucket %u: %.*s",
              scan->out.scan.stuck, scan->bucket, BYTES_ARG(scan->out.scan.wrong));
    c->stuck_quiet_until_mono_ms = now_mono_ms + STUCK_QUIET_MS;
}
