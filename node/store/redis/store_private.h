/* A store on Redis from inside: store.c has the parts and what they say, store_life.c the port,
 * its beginning and its end, store_options.c what it is told.
 */
#ifndef DUEQ_NODE_STORE_REDIS_STORE_PRIVATE_H
#define DUEQ_NODE_STORE_REDIS_STORE_PRIVATE_H

#include <stdbool.h>

#include "base/list.h"
#include "node/store/redis/address.h"
#include "node/store/redis/lane.h"
#include "node/store/redis/route.h"
#include "node/store/redis/state_log.h"
#include "node/store/redis/store.h"

struct redis_store {
    struct store port;
    struct redis_store_options options;
    struct loop *loop;
    struct redis_past *past;
    struct redis_route route;
    struct list lanes; /* oldest first */
    struct redis_requests *requests;
    struct redis_wakeups *wakeups;
    struct redis_follow *follow;
    struct redis_store_stats stats;
    struct redis_state_log state_log;
    char up_at[REDIS_ADDRESS_CHARS]; /* the Redis that was up last */
    bool is_older;   /* it came back older, and the port's owner does not know */
    bool is_refused; /* it was said; not again before the next handshake is done */
    bool is_stopping;
    unsigned parts_running; /* while stopping: on_stopped is called when all have stopped */
    void (*on_stopped)(void *arg);
    void *stopped_arg;
};

/* What is wrong goes to the log. */
enum status redis_store_check(const struct redis_store_options *options) MUST_CHECK;

/* All parts, none of them started. BAD_CONFIG: the address is none, and nothing is made. */
enum status redis_store_make_parts(struct redis_store *s) MUST_CHECK;

#endif
