/* Waits until replicas have the writes that were answered: by WAIT, on a connection of its own
 * (doc/redis.md), because a WAIT holds up all commands behind it.
 *
 *          first waiter
 *   IDLE ---------------> ASKING: PING and WAIT are in flight
 *    ^                        |  enough replicas: waits from before PING are safe
 *    |                        |  fewer: they are not
 *    '------ nobody waits ----'  those that came meanwhile: the next pair
 *
 * WAIT is about all that was written before the last command of its own connection: the PING
 * before it makes that "all that Redis had done by then".
 *
 * A WAIT proves something only at the Redis the answers came from: the same process, master all
 * the time (struct redis_incarnation). A connection shows its incarnation first; waits for
 * another incarnation are not safe. So a lost connection alone loses no wait: the next one asks
 * again for those whose time is not over.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLICAS_H
#define DUEQ_NODE_STORE_REDIS_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/conn.h"
#include "node/store/redis/durability.h"

#define REDIS_REPLICAS_CALM_MS 10000

struct redis_replicas_options {
    struct redis_login login;
    unsigned min_replicas; /* 1 or more */
    int64_t patience_ms;   /* 1 or more: the longest wait */
    int64_t timeout_ms;    /* to connect, and of a command; a WAIT has patience_ms more */
    int64_t backoff_max_ms;
    int64_t calm_ms; /* without a failed wait, until the log says that all is well */
    void (*on_stopped)(void *arg);
    void *arg;
};

/* The caller embeds it. */
struct replica_wait {
    /* Once, and never from inside redis_replicas_wait(). `is_safe` false: no proof came in
     * time. */
    void (*on_end)(struct replica_wait *w, bool is_safe);
    struct list link;
    int64_t until_mono_ms;
};

struct redis_replicas;

/* User and password are borrowed until redis_replicas_free(). */
struct redis_replicas *redis_replicas_new(struct loop *loop,
                                          const struct redis_replicas_options *options);
void redis_replicas_free(struct redis_replicas *r); /* stopped or never started; NULL is fine */
void redis_replicas_start(struct redis_replicas *r);

/* At each handshake of the command link: the Redis that waits are about from now on. Waits for
 * another Redis, or another incarnation, are not safe. */
void redis_replicas_follow(struct redis_replicas *r, const struct redis_address *address,
                           const struct redis_incarnation *incarnation);

/* The command link goes there from now on: waits elsewhere are not safe. */
void redis_replicas_turn(struct redis_replicas *r, const struct redis_address *address);

/* For an answer of the Redis that is followed. */
void redis_replicas_wait(struct redis_replicas *r, struct replica_wait *w);
bool redis_replicas_is_idle(const struct redis_replicas *r); /* nobody waits */

/* All waits end, not safe, in a later turn. */
void redis_replicas_give_up(struct redis_replicas *r);

/* The same; then on_stopped, when all have been told. */
void redis_replicas_stop(struct redis_replicas *r);

#endif
