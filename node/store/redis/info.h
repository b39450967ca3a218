/* What INFO says about a Redis, as far as it matters to us. Pure. */
#ifndef DUEQ_NODE_STORE_REDIS_INFO_H
#define DUEQ_NODE_STORE_REDIS_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Which Redis it is, and whether it has been the master all the time. Of each 40 characters; ""
 * where INFO does not say. */
struct redis_life {
    char run_id[41];  /* of the process */
    char history[41]; /* master_replid: another when it becomes the master, and when it gets its
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
    uint64_t maxmemory;   /* so; 0: no limit */
    unsigned replicas;    /* that are in step, not those that still load */
    unsigned
        good_replicas; /* as min-replicas-to-write counts them; told only where it is set */
    struct redis_life life;
};

#define REDIS_VERSION_MIN 60200u /* ZADD LT */

/* A line that is missing leaves its field 0. */
struct redis_info redis_info_read(struct bytes text);

/* It was a replica before it became the master; or it is one. Forgotten when it has had no
 * replica for repl-backlog-ttl, an hour. */
bool redis_life_was_replica(const struct redis_life *life);

/* Has nothing been forgotten between both? The same process, and not a replica meanwhile. */
bool redis_life_goes_on(const struct redis_life *before, const struct redis_life *now);

#endif
