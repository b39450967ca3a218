/* Can this Redis keep what it is given? What INFO says of it, and which of its settings may
 * lose jobs. Pure.
 */
#ifndef DUEQ_NODE_STORE_REDIS_DURABILITY_H
#define DUEQ_NODE_STORE_REDIS_DURABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* What INFO says about a Redis, as far as it matters to us. Pure. */

/* Which Redis it is, and whether it has been the master all the time. 40 characters each; ""
 * where INFO does not say. */
struct redis_incarnation {
    char run_id[41];  /* of the process */
    char history[41]; /* master_replid: changes when it becomes the master, and when it gets its
                       * first replica */
    char former[41];  /* master_replid2: of when it was a replica; zeros: it never was */
};

struct redis_info {
    unsigned version; /* 7.0.15 is 70015; 0: INFO did not say */
    char version_text[24];
    bool is_loading;
    bool is_replica;
    bool is_sentinel;
    bool has_aof;
    bool may_evict;       /* maxmemory-policy is not noeviction */
    uint64_t used_memory; /* bytes */
    uint64_t maxmemory;   /* bytes; 0: no limit */
    unsigned replicas;    /* that are in step, not those that still load */
    unsigned
        good_replicas; /* as min-replicas-to-write counts them; told only where it is set */
    struct redis_incarnation incarnation;
};

#define REDIS_VERSION_MIN 60200u /* ZADD LT */

/* A line that is missing leaves its field 0. */
struct redis_info redis_info_read(struct bytes text);

/* Was it a replica before it became the master, or is it one? Redis forgets that when it has
 * had no replica for repl-backlog-ttl, an hour. */
bool redis_incarnation_was_replica(const struct redis_incarnation *incarnation);

/* Has nothing been lost between the two? True for the same process, if it was no replica
 * meanwhile. */
bool redis_incarnation_goes_on(const struct redis_incarnation *before,
                               const struct redis_incarnation *now);

/* The weaknesses of a Redis's set-up, which may lose jobs (doc/redis.md): from INFO and CONFIG
 * to words, and to advice for an operator. Pure.
 */

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
    uint64_t aof_cut_bytes;    /* cut off the embedded Redis's append-only file; 0: none */
    bool is_disk_wrong;        /* it answers MISCONF */
    bool was_nearly_full;      /* when last judged: the hysteresis of MEMORY */
    bool may_be_replaced; /* by a replica: Sentinels watch it, or it is in a cluster and has one
                           */
};

/* A bit, 1 << weakness, for each. */
unsigned redis_weaknesses(const struct redis_setup *setup);
const char *weakness_word(enum weakness weakness);

/* What is wrong and may be lost, and what to do about it: for the log, `strict` and an
 * operator. */
const char *weakness_what(enum weakness weakness);
const char *weakness_advice(enum weakness weakness);

/* Does `strict` refuse it? Else the weakness costs time only. */
bool weakness_loses_jobs(enum weakness weakness);

/* Does Redis refuse all that writes, so that the store cannot be used? */
bool weakness_stops_writes(enum weakness weakness);

#endif
