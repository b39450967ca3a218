#include "node/store/redis/complaints.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define QUIET_MS        1000
#define BUCKET_QUIET_MS 60000 /* between two different ones of a bucket */
#define REMIND_MS       3600000

#define TO_DO "rename the key away (doc/store.md, Keys of a wrong type)"

/* Is it news? Then it is said from now on. */
static bool is_news(struct redis_complaints *c, int64_t now_mono_ms, unsigned bucket,
                    struct bytes wrong)
{
    struct redis_complaint *last = &c->buckets[bucket];
    char text[sizeof(last->wrong)];
    int64_t age_ms = now_mono_ms - last->said_mono_ms;

    assert(bucket < REDIS_PAST_BUCKETS_MAX);
    snprintf(text, sizeof(text), "%.*s", BYTES_ARG(wrong));
    if (*last->wrong && age_ms < (strcmp(text, last->wrong) == 0 ? REMIND_MS : BUCKET_QUIET_MS))
        return false;
    memcpy(last->wrong, text, sizeof(text));
    last->said_mono_ms = now_mono_ms;
    return true;
}

/* The scripts' own errors begin so. */
static bool names_what_is_wrong(const struct op *op, const char *error)
{
    return op_is_fenced(op->verb) && !strncmp(error, "DUEQ ", 5);
}

void redis_complain_error(struct redis_complaints *c, int64_t now_mono_ms, const struct op *op,
                          const char *error)
{
    if (names_what_is_wrong(op, error)) {
        if (is_news(c, now_mono_ms, op->bucket, bytes_of_text(error)))
            LOG_ERROR("redis", "nothing becomes due in bucket %u, the others go on: %s; " TO_DO,
                      op->bucket, error + 5);
        return;
    }
    if (now_mono_ms < c->quiet_until_mono_ms) {
        c->unsaid++;
        return;
    }
    if (c->unsaid)
        LOG_WARN("redis", "%u more errors were not logged", c->unsaid);
    LOG_WARN("redis", "%s: %s", op_word(op->verb), error);
    c->quiet_until_mono_ms = now_mono_ms + QUIET_MS;
    c->unsaid = 0;
}

void redis_complain_scanned(struct redis_complaints *c, int64_t now_mono_ms,
                            const struct op *scan)
{
    struct bytes wrong = scan->out.scan.wrong;

    if (wrong.len == 0 || !is_news(c, now_mono_ms, scan->bucket, wrong))
        return;
    if (scan->out.scan.stuck > 0)
        LOG_ERROR("redis", "nothing becomes due in %u topic(s) of bucket %u: %.*s",
                  scan->out.scan.stuck, scan->bucket, BYTES_ARG(wrong));
    else
        LOG_ERROR("redis", "bucket %u writes no history of what becomes due: %.*s; " TO_DO,
                  scan->bucket, BYTES_ARG(wrong));
}
