/* What the store knows of itself, as the HTTP port shows it: its numbers, its masters, and
 * which buckets are not reached, and why. Nothing but renaming, and the room for it. */
#ifndef DUEQ_NODE_APP_STORE_H
#define DUEQ_NODE_APP_STORE_H

#include "node/store/redis/store.h"
#include "protocol/http/store.h"

struct app_store {
    struct redis_store *store; /* borrowed */
    unsigned buckets;
    const _Atomic uint64_t *aof_cut_bytes; /* NULL: the Redis is not embedded */
    struct http_store_master masters[HTTP_STORE_MASTERS_MAX];
    struct http_store_unreached unreached[HTTP_STORE_BUCKETS_MAX];
};

/* All of it. What `to` points to is borrowed until the next call, or until the loop turns. */
void app_store_read(struct app_store *s, struct http_store_numbers *to);

#endif
