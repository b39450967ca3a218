#include "node/store/redis/throttle.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"

/* ---- the state ---- */

#define LASTS_MS 200

static void say_state(struct redis_state_log *l)
{
    static const char *const words[] = {
        [REDIS_STORE_DOWN] = "down",
        [REDIS_STORE_UNHEARD] = "up, but hears no wake-ups",
        [REDIS_STORE_UP] = "up",
    };

    if (l->state == l->said)
        return;
    l->said = l->state;
    LOG_AT(l->level, "redis", "%s is %s", l->where, words[l->state]);
}

static void on_timer(struct timer *timer)
{
    say_state(CONTAINER_OF(timer, struct redis_state_log, timer));
}

void redis_state_log_init(struct redis_state_log *l, struct timers *timers, const char *where)
{
    *l = (struct redis_state_log){
        .timers = timers, .where = where, .state = REDIS_STORE_DOWN, .said = REDIS_STORE_DOWN};
    timer_init(&l->timer, on_timer);
}

void redis_state_log_fini(struct redis_state_log *l)
{
    timer_disarm(l->timers, &l->timer);
}

void redis_state_log_turned(struct redis_state_log *l, enum redis_store_state state,
                            enum log_level level)
{
    l->state = state;
    l->level = level;
    timer_disarm(l->timers, &l->timer);
    if (state == REDIS_STORE_UNHEARD)
        timer_arm(l->timers, &l->timer, LASTS_MS);
    else
        say_state(l);
}

/* ---- answers ---- */

#define QUIET_MS        1000
#define BUCKET_QUIET_MS 60000 /* between two different ones of a bucket */
#define REMIND_MS       3600000

#define TO_DO "rename the key away (doc/store.md, Keys of a wrong type)"

/* Is `wrong` news? Then it counts as logged from now on. */
static bool is_news(struct redis_said *last, int64_t now_mono_ms, struct bytes wrong)
{
    char text[sizeof(last->wrong)];
    int64_t age_ms = now_mono_ms - last->said_mono_ms;

    snprintf(text, sizeof(text), "%.*s", BYTES_ARG(wrong));
    if (*last->wrong && age_ms < (strcmp(text, last->wrong) == 0 ? REMIND_MS : BUCKET_QUIET_MS))
        return false;
    memcpy(last->wrong, text, sizeof(text));
    last->said_mono_ms = now_mono_ms;
    return true;
}

/* An audit is of one topic, all other ops are of the bucket. */
static void name_wrong_key(struct redis_throttle *t, int64_t now_mono_ms, const struct op *op,
                           const char *wrong)
{
    if (!is_news(&t->buckets[op->bucket], now_mono_ms, bytes_of_text(wrong)))
        return;
    if (op->verb == OP_AUDIT)
        LOG_ERROR(
            "redis",
            "topic %.*s of bucket %u cannot be looked through, the others go on: %s; " TO_DO,
            BYTES_ARG(op->topic), op->bucket, wrong);
    else
        LOG_ERROR("redis", "nothing becomes due in bucket %u, the others go on: %s; " TO_DO,
                  op->bucket, wrong);
}

/* The script does not say which key: the leader's audit does. */
static void name_wrong_topic(struct redis_throttle *t, int64_t now_mono_ms, const struct op *op,
                             const char *error)
{
    if (is_news(&t->topics[op->bucket], now_mono_ms, op->topic))
        LOG_ERROR("redis",
                  "%s: a key of topic %.*s, or of its bucket %u, is of a wrong type "
                  "(doc/store.md, Keys of a wrong type): %s",
                  op_word(op->verb), BYTES_ARG(op->topic), op->bucket, error);
}

void redis_throttle_error(struct redis_throttle *t, int64_t now_mono_ms, const struct op *op,
                          const char *error)
{
    assert(op->bucket < REDIS_MARKS_BUCKETS_MAX);
    /* The scripts' own errors begin so. */
    if (op_has(op->verb, TRAIT_FENCED) && !strncmp(error, "DUEQ ", 5)) {
        name_wrong_key(t, now_mono_ms, op, error + 5);
        return;
    }
    if (op->topic.len && strstr(error, "WRONGTYPE")) {
        name_wrong_topic(t, now_mono_ms, op, error);
        return;
    }
    if (now_mono_ms < t->quiet_until_mono_ms) {
        t->unsaid++;
        return;
    }
    if (t->unsaid)
        LOG_WARN("redis", "%u more errors were not logged", t->unsaid);
    LOG_WARN("redis", "%s: %s", op_word(op->verb), error);
    t->quiet_until_mono_ms = now_mono_ms + QUIET_MS;
    t->unsaid = 0;
}

void redis_throttle_scanned(struct redis_throttle *t, int64_t now_mono_ms,
                            const struct op *scan)
{
    struct bytes wrong = scan->out.scan.wrong;

    if (wrong.len == 0 || !is_news(&t->buckets[scan->bucket], now_mono_ms, wrong))
        return;
    if (scan->out.scan.stuck > 0)
        LOG_ERROR("redis", "nothing becomes due in %u topic(s) of bucket %u: %.*s",
                  scan->out.scan.stuck, scan->bucket, BYTES_ARG(wrong));
    else
        LOG_ERROR("redis", "bucket %u writes no history of what becomes due: %.*s; " TO_DO,
                  scan->bucket, BYTES_ARG(wrong));
}
