#include "node/store/redis/durability.h"

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

/* 0: `name` is not there. */
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
    copy(find(text, "run_id"), info.incarnation.run_id, sizeof(info.incarnation.run_id));
    copy(find(text, "master_replid"), info.incarnation.history,
         sizeof(info.incarnation.history));
    copy(find(text, "master_replid2"), info.incarnation.former,
         sizeof(info.incarnation.former));
    return info;
}

bool redis_incarnation_was_replica(const struct redis_incarnation *incarnation)
{
    static const char never[] = "0000000000000000000000000000000000000000";

    return strcmp(incarnation->former, never) != 0;
}

bool redis_incarnation_goes_on(const struct redis_incarnation *before,
                               const struct redis_incarnation *now)
{
    return !strcmp(before->run_id, now->run_id) &&
           (!strcmp(before->history, now->history) || !redis_incarnation_was_replica(now));
}

/* ---- weakness ---- */

#define BY_CONFIG "(CONFIG SET does it at once, redis.conf for good)"

static const struct {
    bool loses;
    const char *what, *advice;
} table[WEAKNESS_COUNT] = {
    [WEAKNESS_NO_AOF] = {true,
                         "Redis runs without append-only file: all jobs are lost when it ends",
                         "set 'appendonly yes' " BY_CONFIG},
    [WEAKNESS_FSYNC] = {true,
                        "Redis acknowledges pushes before they are on disk: the last ones are "
                        "lost when its machine ends",
                        "set 'appendfsync always' " BY_CONFIG
                        "; of the embedded Redis it is store.appendfsync"},
    [WEAKNESS_MAY_EVICT] =
        {true,
         "Redis may evict jobs, or what it notes of the last pushes, when its memory is full",
         "set 'maxmemory-policy noeviction' " BY_CONFIG},
    [WEAKNESS_FEW_REPLICAS] = {false,
                               "Redis has fewer replicas in step than store.min_replicas: "
                               "pushes, acks and cancels end as unknown",
                               "bring the replicas back, or lower store.min_replicas"},
    [WEAKNESS_STALE_WRITES] = {true,
                               "a master that has lost its replicas goes on taking writes, "
                               "which a failover loses",
                               "set 'min-replicas-to-write 1' in each Redis " BY_CONFIG
                               "; where each has but one replica rather store.min_replicas: 1"},
    [WEAKNESS_AOF_CUT] =
        {true,
         "the append-only file of the embedded Redis has lost its end, or some of its list: "
         "jobs that were acknowledged may be missing",
         "the node's log says how much, and how it was found; after a power failure nothing is "
         "missing that was acknowledged (store.appendfsync: always), else "
         "restore a backup; a restart of the node ends this warning"},
    [WEAKNESS_MEMORY] =
        {false,
         "Redis uses more than nine tenths of the memory that it may: when it "
         "is full, pushes are refused",
         "let consumers catch up or purge dead jobs, or raise maxmemory; of the "
         "embedded Redis it is store.memory"},
    [WEAKNESS_MISCONF] = {false,
                          "Redis refuses all that writes (MISCONF): it cannot write its files, "
                          "the disk is full or fails",
                          "make room, or look at that disk (the end of Redis's log, 'df -h'); "
                          "it goes on by itself then"},
    [WEAKNESS_NOREPLICAS] =
        {false,
         "Redis refuses all that writes (NOREPLICAS): fewer replicas than "
         "its own min-replicas-to-write are connected and in time",
         "bring the replicas back, or lower min-replicas-to-write " BY_CONFIG},
    [WEAKNESS_UNKNOWN] = {true,
                          "Redis does not answer CONFIG GET: cannot tell whether it keeps what "
                          "it acknowledges",
                          "allow the node's user CONFIG GET, or see by other means that there "
                          "is 'appendfsync always'"},
};

const char *weakness_word(enum weakness weakness)
{
    static const char *const words[WEAKNESS_COUNT] = {
#define X(name, word) [WEAKNESS_##name] = word,
        WEAKNESS_LIST(X)
#undef X
    };

    return words[weakness];
}

const char *weakness_what(enum weakness weakness)
{
    return table[weakness].what;
}

const char *weakness_advice(enum weakness weakness)
{
    return table[weakness].advice;
}

bool weakness_loses_jobs(enum weakness weakness)
{
    return table[weakness].loses;
}

bool weakness_stops_writes(enum weakness weakness)
{
    return weakness == WEAKNESS_MISCONF || weakness == WEAKNESS_NOREPLICAS;
}

/* Above nine tenths, and then until it is below eight. */
static bool is_nearly_full(const struct redis_setup *s)
{
    uint64_t tenths = s->was_nearly_full ? 8 : 9;

    return s->info.maxmemory > 0 && s->info.used_memory / tenths > s->info.maxmemory / 10;
}

unsigned redis_weaknesses(const struct redis_setup *s)
{
    bool is_early = s->appendfsync && strcmp(s->appendfsync, "always") != 0;
    const bool has[WEAKNESS_COUNT] = {
        [WEAKNESS_NO_AOF] = !s->info.has_aof,
        [WEAKNESS_FSYNC] = s->info.has_aof && is_early,
        [WEAKNESS_MAY_EVICT] = s->info.may_evict,
        [WEAKNESS_FEW_REPLICAS] = s->info.replicas < s->min_replicas,
        /* With min_replicas no write is called done without a replica. */
        [WEAKNESS_STALE_WRITES] =
            s->may_be_replaced && s->min_replicas_to_write == 0 && s->min_replicas == 0,
        [WEAKNESS_AOF_CUT] = s->aof_cut_bytes > 0,
        [WEAKNESS_MEMORY] = is_nearly_full(s),
        [WEAKNESS_MISCONF] = s->is_disk_wrong,
        [WEAKNESS_NOREPLICAS] = s->min_replicas_to_write > 0 &&
                                s->info.good_replicas < (unsigned)s->min_replicas_to_write,
        [WEAKNESS_UNKNOWN] = !s->appendfsync || s->min_replicas_to_write < 0,
    };
    unsigned bits = 0;

    for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
        bits |= (unsigned)has[w] << w;
    return bits;
}
