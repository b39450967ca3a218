#include "node/store/redis/info.h"

#include <stdio.h>
#include <string.h>

#define REPLICAS_MAX 64 /* more than anybody asks for */

/* The value of "name:value\r\n" at the start of a line; empty when there is none. */
static struct bytes find(struct bytes text, const char *name)
{
    size_t name_len = strlen(name);
    const char *at = text.at, *end = text.at + text.len;

    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((eol ? eol : end) - at);

        if (len > name_len && at[name_len] == ':' && !memcmp(at, name, name_len)) {
            len -= name_len + 1;
            if (len && at[name_len + len] == '\r')
                len--;
            return bytes_of(at + name_len + 1, len);
        }
        at = eol ? eol + 1 : end;
    }
    return bytes_of("", 0);
}

static bool is(struct bytes text, const char *name, const char *value)
{
    return bytes_equal(find(text, name), bytes_of_text(value));
}

/* All of it, or nothing. */
static void copy(struct bytes text, char *to, size_t size)
{
    to[0] = '\0';
    if (text.len >= size)
        return;
    memcpy(to, text.at, text.len);
    to[text.len] = '\0';
}

/* 0: it is not there. */
static uint64_t number(struct bytes text, const char *name)
{
    struct bytes value = find(text, name);
    uint64_t n = 0;

    for (size_t i = 0; i < value.len && value.at[i] >= '0' && value.at[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(value.at[i] - '0');
    return n;
}

/* "slave0:ip=10.0.0.2,port=6379,state=online,offset=14,lag=0", and so on. */
static unsigned count_replicas(struct bytes text)
{
    unsigned count = 0;
    char name[24];

    for (unsigned i = 0; i < REPLICAS_MAX; i++) {
        struct bytes line;

        snprintf(name, sizeof(name), "slave%u", i);
        line = find(text, name);
        if (line.len == 0)
            break;
        count += memmem(line.at, line.len, ",state=online,", 14) != NULL;
    }
    return count;
}

static unsigned version_number(const char *text)
{
    unsigned major = 0, minor = 0, patch = 0;

    sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch);
    return major * 10000 + minor * 100 + patch;
}

struct redis_info redis_info_read(struct bytes text)
{
    struct bytes version = find(text, "redis_version");
    struct bytes policy = find(text, "maxmemory_policy");
    struct redis_info info = {
        .is_loading = is(text, "loading", "1"),
        .is_replica = is(text, "role", "slave"),
        .is_sentinel = is(text, "redis_mode", "sentinel"),
        .has_aof = is(text, "aof_enabled", "1"),
        .used_memory = number(text, "used_memory"),
        .maxmemory = number(text, "maxmemory"),
        .replicas = count_replicas(text),
        .good_replicas = (unsigned)number(text, "min_slaves_good_slaves"),
        .may_evict = policy.len && !bytes_equal(policy, BYTES("noeviction")),
    };

    copy(version, info.version_text, sizeof(info.version_text));
    info.version = version_number(info.version_text);
    copy(find(text, "run_id"), info.life.run_id, sizeof(info.life.run_id));
    copy(find(text, "master_replid"), info.life.history, sizeof(info.life.history));
    copy(find(text, "master_replid2"), info.life.former, sizeof(info.life.former));
    return info;
}

bool redis_life_was_replica(const struct redis_life *life)
{
    static const char never[] = "0000000000000000000000000000000000000000";

    return strcmp(life->former, never) != 0;
}

bool redis_life_goes_on(const struct redis_life *before, const struct redis_life *now)
{
    return !strcmp(before->run_id, now->run_id) &&
           (!strcmp(before->history, now->history) || !redis_life_was_replica(now));
}
