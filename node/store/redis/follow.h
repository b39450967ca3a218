/* The one Redis of a store: at a fixed address, or the master that Sentinels name. Keeps the
 * store's links at it.
 */
#ifndef DUEQ_NODE_STORE_REDIS_FOLLOW_H
#define DUEQ_NODE_STORE_REDIS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/conn.h"

struct redis_link;
struct redis_wakeups;

struct redis_follow_options {
    const char *address;      /* redis_address_parse(), redis_sentinels_parse() */
    struct redis_login login; /* of the Sentinels */
    int64_t timeout_ms;
    int64_t backoff_max_ms;
    /* The Sentinels cannot name a master until somebody changes something; they are asked again
     * and again. */
    void (*on_refused)(void *arg, const char *why);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_follow;

/* NULL: no address; the log says so. Texts are borrowed for its life. */
struct redis_follow *redis_follow_new(struct loop *loop,
                                      const struct redis_follow_options *options);
void redis_follow_free(struct redis_follow *f); /* stopped or never started; NULL is fine */

/* For the options of links: host "" where Sentinels know it. */
const struct redis_address *redis_follow_address(const struct redis_follow *f);

/* May the address change? Then the command link's on_look calls redis_follow_look(). */
bool redis_follow_has_sentinels(const struct redis_follow *f);
void redis_follow_look(struct redis_follow *f);

/* Is the Redis usable, and connected? At first it is not. */
void redis_follow_used(struct redis_follow *f, bool is_used);

/* Before the start. Both are borrowed for its life. */
void redis_follow_attach(struct redis_follow *f, struct redis_link *commands,
                         struct redis_wakeups *wakeups);
void redis_follow_start(struct redis_follow *f);

/* Stop this before the links, which must be stopped on their own. */
void redis_follow_stop(struct redis_follow *f);

/* The Redis in use; "" until it is known. Borrowed until it changes. */
const char *redis_follow_text(const struct redis_follow *f);

#endif
