/* What INFO says about a Redis, as far as it matters to us. Pure. */
#ifndef DUEQ_NODE_STORE_REDIS_INFO_H
#define DUEQ_NODE_STORE_REDIS_INFO_H

#include <stdbool.h>

#include "base/bytes.h"

struct redis_info {
    unsigned version; /* 7.0.15 is 70015; 0: INFO did not say */
    char version_text[24];
    bool is_loading;
    bool is_replica;
    bool is_sentinel;
    bool has_aof;
    bool may_evict;    /* maxmemory-policy is not noeviction */
    unsigned replicas; /* that are in step, not those that still load */
};

#define REDIS_VERSION_MIN 60200u /* ZADD LT */

/* A line that is missing leaves its field 0. */
struct redis_info redis_info_read(struct bytes text);

#endif
