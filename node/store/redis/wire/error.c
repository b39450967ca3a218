#include "node/store/redis/wire/error.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/wire/tls.h"

/* AUTH without any password configured is put differently by each generation of Redis. */
static const char *const lasting[] = {
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "DENIED",
    "ERR AUTH ",
    "ERR Client sent AUTH",
    "ERR invalid password",
    "ERR unknown command",
    "ERR Error compiling script",
    REDIS_TLS_LASTING,
    NULL,
};

/* A script's error has its cause somewhere inside; which place depends on Redis's version. */
static const char *const lasting_inside[] = {"WRONGTYPE", "NOPERM", NULL};

static const char *const of_the_connection[] = {
    "READONLY", "LOADING", "MASTERDOWN", "BUSY", "NOAUTH", NULL,
};

static const char *const of_all_writes[] = {"MISCONF", "NOREPLICAS", "OOM", NULL};

/* Redis 6 puts a script's error into a sentence of its own. */
static const char *const of_all_writes_inside[] = {": -MISCONF ", ": -NOREPLICAS ", ": -OOM ",
                                                   NULL};

static bool begins_with_one_of(const char *error, const char *const *words)
{
    for (; *words; words++) {
        if (!strncmp(error, *words, strlen(*words)))
            return true;
    }
    return false;
}

static bool contains_one_of(const char *error, const char *const *words)
{
    for (; *words; words++) {
        if (strstr(error, *words))
            return true;
    }
    return false;
}

bool redis_error_is_lasting(const char *error)
{
    return begins_with_one_of(error, lasting) || contains_one_of(error, lasting_inside);
}

/* Redis 6 puts a script's error into a sentence of its own. */
bool redis_error_is_of_the_connection(const char *error)
{
    return begins_with_one_of(error, of_the_connection) || strstr(error, ": -READONLY ");
}

bool redis_error_refuses_writes(const char *error)
{
    return begins_with_one_of(error, of_all_writes) ||
           contains_one_of(error, of_all_writes_inside);
}

/* ---- why ---- */

#define MINUTE_MS 60000

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && !strcmp(text + len - end_len, end);
}

/* NULL: no line is left, or the reason was logged within the last minute. */
static struct redis_last_error_line *find_line(struct redis_last_error *e, int64_t now_mono_ms)
{
    struct redis_last_error_line *unused = NULL;

    for (struct redis_last_error_line *line = e->said; line < e->said + REDIS_ERROR_LINES;
         line++) {
        if (now_mono_ms >= line->until_mono_ms)
            unused = line;
        else if (!strcmp(line->text, e->text))
            return NULL;
    }
    e->unsaid += unused == NULL;
    return unused;
}

static void say(struct redis_last_error *e, enum log_level level, const char *name,
                int64_t now_mono_ms)
{
    struct redis_last_error_line *line = find_line(e, now_mono_ms);

    if (!line)
        return;
    if (e->unsaid)
        LOG_AT(level, "redis", "%s: %u more reasons were not logged", name, e->unsaid);
    LOG_AT(level, "redis", "%s: %s", name, e->text);
    e->unsaid = 0;
    line->until_mono_ms = now_mono_ms + MINUTE_MS;
    memcpy(line->text, e->text, sizeof(line->text));
}

void redis_last_error_set(struct redis_last_error *e, enum log_level level, const char *name,
                          const char *where, const char *reason, int64_t now_mono_ms)
{
    if (ends_with(name, where))
        where = "";
    snprintf(e->text, sizeof(e->text), "%s%s%s", where, *where ? ": " : "", reason);
    e->reason_at = *where ? (unsigned)strlen(where) + 2 : 0;
    for (char *c = e->text; *c; c++) { /* it goes into JSON, too */
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    say(e, level, name, now_mono_ms);
}

void redis_last_error_clear(struct redis_last_error *e)
{
    e->text[0] = '\0';
    e->reason_at = 0;
    for (unsigned i = 0; i < REDIS_ERROR_LINES; i++)
        e->said[i].text[0] = '\0';
}

const char *redis_last_error_reason(const struct redis_last_error *e)
{
    return e->text + e->reason_at;
}
