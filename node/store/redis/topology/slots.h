/* Where the slots of a Redis Cluster are: CLUSTER SLOTS read, and a slot for a key. Pure.
 *
 * Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ (key
 * distribution, hash tags, redirection), and the page of CLUSTER SLOTS.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SLOTS_H
#define DUEQ_NODE_STORE_REDIS_SLOTS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"
#include "node/store/redis/wire/address.h"

struct redisReply;

#define REDIS_SLOTS       16384
#define REDIS_BUCKETS_MAX 128                     /* LIMITS: store.buckets */
#define REDIS_MASTERS_MAX (REDIS_BUCKETS_MAX + 1) /* that have a bucket, or dq:meta */
#define REDIS_NO_MASTER   255

/* crc16 of what is between the first '{' and the next '}', where that is not empty; else of
 * all. */
unsigned redis_slot_of(struct bytes key);
unsigned redis_slot_of_bucket(unsigned bucket); /* its keys' tag */

/* Which master has which bucket, and dq:meta. The caller's memory. */
struct redis_map {
    struct redis_address masters[REDIS_MASTERS_MAX]; /* each once; sorted */
    unsigned master_count;
    unsigned char of_bucket[REDIS_BUCKETS_MAX]; /* REDIS_NO_MASTER: nobody */
    unsigned char of_meta;
    unsigned covered; /* slots that have a master; below REDIS_SLOTS: some have none */
};

/* An answer to CLUSTER SLOTS of the node at `asked`, whose host stands in where one has none.
 * Masters whose address cannot be used count as nobody. BAD_CONFIG: it is no such answer, and
 * the map is untouched. */
enum status redis_map_read(struct redis_map *map, const struct redisReply *reply,
                           const struct redis_address *asked, unsigned buckets,
                           struct bytes meta_key) MUST_CHECK;

/* ---- what an error means where keys move ---- */

enum redis_redirect {
    REDIS_NOT_REDIRECTED,
    REDIS_MOVED,     /* did not run; the slot is at `to` now */
    REDIS_ASK,       /* did not run; the slot is on its way to `to`, and some keys are there */
    REDIS_TRY_AGAIN, /* did not run to its end, wrote nothing; some of the keys are elsewhere */
    REDIS_DOWN,      /* did not run; nobody has the slot, or it is not said who */
};

/* `to` is set for MOVED and ASK, and untouched else; an empty host (":7001") means the one that
 * was asked. */
enum redis_redirect redis_redirect_read(const char *error, const struct redis_address *asked,
                                        struct redis_address *to);

#endif
