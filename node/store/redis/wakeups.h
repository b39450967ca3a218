/* Hears which topics turned from empty to ready, and (with a '=' before the name) whose
 * settings have changed: the subscription to `<prefix>:ready`. ">7 42 300": a topic of share 42
 * of bucket 7 has an event in 300 ms, says another node.
 *
 * A subscribed connection of hiredis 0.14 swallows PONG, so it proves itself alive in another
 * way: it publishes a word of its own over the command link and waits to hear it. The word
 * begins with '-', which no topic does. If it was published and is not heard until the next
 * beat, the connection is closed and made anew.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WAKEUPS_H
#define DUEQ_NODE_STORE_REDIS_WAKEUPS_H

#include <stdbool.h>

#include "node/store/redis/link.h"

struct redis_wakeups_options {
    struct redis_address address; /* host "": redis_wakeups_aim() says it */
    const char *password;
    const char *prefix;
    int64_t timeout_ms; /* to connect, to subscribe; the time between beats */
    int64_t backoff_max_ms;

    void (*on_ready)(void *arg, struct bytes topic);
    void (*on_settings)(void *arg, struct bytes topic);
    /* Not checked. */
    void (*on_hint)(void *arg, unsigned bucket, unsigned share, int64_t wait_ms);
    void (*on_up)(void *arg); /* the subscription is confirmed */
    void (*on_down)(void *arg);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_wakeups;

/* `commands` publishes the beats while it is open; borrowed. */
struct redis_wakeups *redis_wakeups_new(struct loop *loop, struct redis_link *commands,
                                        const struct redis_wakeups_options *options);
void redis_wakeups_free(struct redis_wakeups *w);

void redis_wakeups_start(struct redis_wakeups *w);
void redis_wakeups_stop(struct redis_wakeups *w); /* before the command link is stopped */

/* As redis_link_aim(). */
void redis_wakeups_aim(struct redis_wakeups *w, const struct redis_address *address);

/* Says so to all who hear, this node included, if there is a link. */
void redis_wakeups_hint(struct redis_wakeups *w, unsigned bucket, unsigned share,
                        int64_t wait_ms);

bool redis_wakeups_are_up(const struct redis_wakeups *w);

/* As redis_link_why(). */
const char *redis_wakeups_why(const struct redis_wakeups *w);

#endif
