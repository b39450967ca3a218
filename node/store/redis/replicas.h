/* Waits until replicas have what was answered: WAIT, on a connection of its own (doc/redis.md),
 * because a WAIT holds up all commands behind it.
 *
 *          first waiter
 *   IDLE ---------------> ASKING: PING and WAIT are in flight
 *    ^                        |  enough replicas: who waited when PING was sent is safe
 *    |                        |  fewer: he is not
 *    '------ nobody waits ----'  those that came meanwhile: the next pair
 *
 * WAIT is about all that was written before the last command of its own connection: the PING
 * before it makes that "all that Redis had done by then".
 *
 * A WAIT proves something only where the answers came from: at the same process, which has been
 * the master all the time. That is what a redis_incarnation is. A connection shows its
 * incarnation first; who waits for another one is not safe. So a lost connection alone loses
 * nobody: the next one asks again for those whose time is not over.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REPLICAS_H
#define DUEQ_NODE_STORE_REDIS_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/durability.h"

#define REDIS_REPLICAS_CALM_MS 10000

struct redis_replicas_options {
    const char *password;  /* NULL or "": none */
    unsigned min_replicas; /* 1 or more */
    int64_t patience_ms;   /* 1 or more: of each who waits */
    int64_t timeout_ms;    /* to connect; of a command, a WAIT has patience_ms more */
    int64_t backoff_max_ms;
    int64_t calm_ms; /* no wait has failed for so long: the log says that all is well */
    void (*on_stopped)(void *arg);
    void *arg;
};

/* The caller embeds it. */
struct replica_wait {
    /* Once, and never from inside redis_replicas_wait(). Not safe: perhaps it is, but nobody
     * has said so in time. */
    void (*on_end)(struct replica_wait *w, bool is_safe);
    struct list link;
    int64_t until_mono_ms;
};

struct redis_replicas;

/* The password is borrowed for its life. */
struct redis_replicas *redis_replicas_new(struct loop *loop,
                                          const struct redis_replicas_options *options);
void redis_replicas_free(struct redis_replicas *r); /* stopped or never started; NULL is fine */
void redis_replicas_start(struct redis_replicas *r);

/* The Redis whose answers are waited for from now on: at each handshake of the command link.
 * Who waits for another one, or another incarnation of it, is not safe. */
void redis_replicas_follow(struct redis_replicas *r, const struct redis_address *address,
                           const struct redis_incarnation *incarnation);

/* The command link goes there from now on: who waits elsewhere is not safe. */
void redis_replicas_turn(struct redis_replicas *r, const struct redis_address *address);

/* Of an answer of the Redis that is followed. */
void redis_replicas_wait(struct redis_replicas *r, struct replica_wait *w);
bool redis_replicas_is_idle(const struct redis_replicas *r); /* nobody waits */

/* Who waits now ends, not safe, in a later turn. */
void redis_replicas_give_up(struct redis_replicas *r);

/* The same; then on_stopped, when all have been told. */
void redis_replicas_stop(struct redis_replicas *r);

#endif
