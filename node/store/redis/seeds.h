/* The nodes of a Redis Cluster that a configuration names. Pure. */
#ifndef DUEQ_NODE_STORE_REDIS_SEEDS_H
#define DUEQ_NODE_STORE_REDIS_SEEDS_H

#include "base/status.h"
#include "node/store/redis/address.h"

#define REDIS_SEEDS_MAX 16

/* "cluster://10.0.0.1,10.0.0.2:7001,[::1]:7002" */
struct redis_seeds {
    struct redis_address list[REDIS_SEEDS_MAX];
    unsigned count;
};

/* BAD_CONFIG: it begins with "cluster:" and is none of these. NOT_FOUND: it does not. */
enum status redis_seeds_parse(const char *text, struct redis_seeds *seeds) MUST_CHECK;

#endif
