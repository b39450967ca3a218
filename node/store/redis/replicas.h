/* Waits until replicas have what was answered: WAIT, on a connection of its own
 * (doc/redis.md). A WAIT that takes its whole time would hold up all commands behind it.
 *
 *          first waiter
 *   IDLE ---------------> WAITING: PING and WAIT are in flight
 *    ^                        |  enough replicas: who waited when PING was sent is safe
 *    |                        |  fewer, late, lost: he is not
 *    '------ nobody waits ----'  those that came meanwhile: the next pair
 *
 * WAIT is about all that was written before the last command of its own connection: the PING
 * before it makes that "all that Redis had answered by then" (Redis's networking: `woff` is set
 * by any command).
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLICAS_H
#define DUEQ_NODE_STORE_REDIS_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "node/store/redis/link.h"

struct redis_replicas_options {
    const char *password;
    unsigned min_replicas; /* 1 or more */
    int64_t patience_ms;   /* of one WAIT, and of a waiter while there is no connection */
    int64_t backoff_max_ms;
    void (*on_stopped)(void *arg);
    void *arg;
};

/* The caller embeds it. on_end comes once, never from inside redis_replicas_wait(). */
struct replica_wait {
    void (*on_end)(struct replica_wait *w, bool is_safe);
    struct list link;
    int64_t until_mono_ms;
};

struct redis_replicas;

struct redis_replicas *redis_replicas_new(struct loop *loop,
                                          const struct redis_replicas_options *options);
void redis_replicas_free(struct redis_replicas *r); /* nobody waits; NULL is fine */

/* The Redis of the command link, whenever that is fit; a connection to another one is closed,
 * and who waits on it is not safe. */
void redis_replicas_follow(struct redis_replicas *r, const struct redis_address *address);

/* Of a write that Redis has answered. */
void redis_replicas_wait(struct redis_replicas *r, struct replica_wait *w);

/* Who waits ends, not safe; then on_stopped. */
void redis_replicas_stop(struct redis_replicas *r);

#endif
