#include "node/store/redis/weakness.h"

#include <string.h>

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
         "the append-only file of the embedded Redis has lost its end, or its list: jobs that "
         "were acknowledged may be missing",
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
        /* What waits for a replica is not called done without one. */
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
