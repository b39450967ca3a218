/* What of a Redis's set-up may lose jobs (doc/redis.md): from its INFO and CONFIG to words, and
 * to what an operator can do. Pure.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WEAKNESS_H
#define DUEQ_NODE_STORE_REDIS_WEAKNESS_H

#include <stdbool.h>

#include "node/store/redis/info.h"

/* clang-format off */
/*    name           word */
#define WEAKNESS_LIST(X)                                                                     \
    X(NO_AOF,        "no_aof")       /* no append-only file                               */ \
    X(FSYNC,         "fsync")        /* acknowledged before it is on disk                 */ \
    X(MAY_EVICT,     "may_evict")    /* jobs or rings go when memory is full              */ \
    X(FEW_REPLICAS,  "few_replicas") /* fewer than store.min_replicas are connected       */ \
    X(STALE_WRITES,  "stale_writes") /* may be replaced, and nothing waits for replicas   */ \
    X(AOF_CUT,       "aof_cut")      /* its append-only file was shortened                */ \
    X(MEMORY,        "memory")       /* nearly full: pushes are about to be refused       */ \
    X(MISCONF,       "misconf")      /* cannot write its files: all writes are refused    */ \
    X(NOREPLICAS,    "noreplicas")   /* min-replicas-to-write is not met: the same        */ \
    X(UNKNOWN,       "unknown")      /* CONFIG is forbidden                               */
/* clang-format on */

enum weakness {
#define X(name, word) WEAKNESS_##name,
    WEAKNESS_LIST(X)
#undef X
        WEAKNESS_COUNT
};

struct redis_setup {
    struct redis_info info;
    const char *appendfsync;   /* NULL: CONFIG is forbidden */
    int min_replicas_to_write; /* -1: the same */
    unsigned min_replicas;     /* store.min_replicas */
    uint64_t aof_cut_bytes;    /* of the embedded one, off its append-only file; 0: none */
    bool is_disk_wrong;        /* it answers MISCONF */
    bool was_nearly_full;      /* when it was last judged: so there is no to and fro */
    bool may_be_replaced; /* by a replica: Sentinels watch it, or it is in a cluster and has one
                           */
};

/* A bit, 1 << weakness, for each. */
unsigned redis_weaknesses(const struct redis_setup *setup);

const char *weakness_word(enum weakness weakness);

/* What is wrong and may be lost, and what to do: for the log, `strict` and an operator. */
const char *weakness_what(enum weakness weakness);
const char *weakness_advice(enum weakness weakness);

/* Is that what `strict` refuses? Else it costs time only. */
bool weakness_loses_jobs(enum weakness weakness);

/* Does Redis refuse all that writes, so that the store cannot be used? */
bool weakness_stops_writes(enum weakness weakness);

#endif
