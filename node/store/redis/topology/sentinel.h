/* The master's address: asked of Redis Sentinels, which also tell when it changes
 * (doc/redis.md).
 *
 *   redis_sentinel        all of them: whom to believe, whom to tell
 *   redis_sentinel_link   one of them: a connection that asks, and one that listens
 *   redis_sentinel_view   what each has said, and what follows; pure
 *
 * All are asked each second, when one of them says `+switch-master`, and when
 * redis_sentinel_ask() wants it. The first believable answer calls on_master;
 * redis_sentinel_view judges where they do not agree. Nobody is called back from inside a call.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "node/store/redis/topology/sentinel_view.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/conn.h"

#define REDIS_MASTER_CHARS 128

/* "sentinel://mymaster@10.0.0.1,10.0.0.2:26380" */
struct redis_sentinels {
    char master[REDIS_MASTER_CHARS];
    struct redis_address list[REDIS_SENTINELS_MAX];
    unsigned count;
};

/* BAD_CONFIG: it begins with "sentinel:" and is none of these. NOT_FOUND: it does not. */
enum status redis_sentinels_parse(const char *text,
                                  struct redis_sentinels *sentinels) MUST_CHECK;

struct redis_sentinel_options {
    struct redis_sentinels sentinels;
    struct redis_login login; /* of the Sentinels, who have no users */
    int64_t timeout_ms;       /* for each of them */
    int64_t backoff_max_ms;

    /* With each answer that is believed; mostly the same address as before. */
    void (*on_master)(void *arg, const struct redis_address *address);
    /* After redis_sentinel_ask(): all have failed. `is_lasting`: until somebody changes the
     * Sentinels or our configuration. */
    void (*on_nobody)(void *arg, const char *why, bool is_lasting);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_sentinel;

/* What the login names is borrowed for its life. */
struct redis_sentinel *redis_sentinel_new(struct loop *loop,
                                          const struct redis_sentinel_options *options);
void redis_sentinel_free(struct redis_sentinel *s); /* stopped or never started; NULL is fine */
void redis_sentinel_start(struct redis_sentinel *s);
void redis_sentinel_ask(struct redis_sentinel *s); /* on_master or on_nobody follows */

/* Is the address that on_master has named a master, and usable? At first it is not. */
void redis_sentinel_used(struct redis_sentinel *s, bool is_used);
void redis_sentinel_stop(struct redis_sentinel *s);

#endif
