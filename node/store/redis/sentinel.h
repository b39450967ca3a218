/* Where is the master? Asks Redis Sentinels, and hears from one when that changes
 * (doc/redis.md).
 *
 * Asked, it goes to each in turn, the one that answered last first: connects, sends SENTINEL
 * get-master-addr-by-name, closes. An address ends it (on_master); when none knows the master,
 * or can be reached, so does on_nobody, and whoever asked asks again later.
 *
 * Beside that one connection stays subscribed to `+switch-master`, at any Sentinel that can be
 * reached; what it says of this master is on_master, too. Nobody is called back from inside a
 * call.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SENTINEL_H
#define DUEQ_NODE_STORE_REDIS_SENTINEL_H

#include "node/store/redis/link.h"

#define REDIS_SENTINELS_MAX 16
#define REDIS_SENTINEL_PORT 26379

/* "sentinel://mymaster@10.0.0.1,10.0.0.2:26380" */
struct redis_sentinels {
    char master[128];
    struct redis_address list[REDIS_SENTINELS_MAX];
    unsigned count;
};

/* BAD_CONFIG: it begins with "sentinel:" and is none of these. NOT_FOUND: it does not. */
enum status redis_sentinels_parse(const char *text,
                                  struct redis_sentinels *sentinels) MUST_CHECK;

struct redis_sentinel_options {
    struct redis_sentinels sentinels;
    const char *password; /* of the Sentinels; NULL or "": none */
    int64_t timeout_ms;   /* for each of them */
    int64_t backoff_max_ms;

    /* Of an answer, and of each `+switch-master`; the same as before, perhaps. */
    void (*on_master)(void *arg, const struct redis_address *address);
    /* All were asked in vain; `why`: what the last one said. */
    void (*on_nobody)(void *arg, const char *why);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_sentinel;

struct redis_sentinel *redis_sentinel_new(struct loop *loop,
                                          const struct redis_sentinel_options *options);
void redis_sentinel_free(struct redis_sentinel *s); /* NULL is fine */

void redis_sentinel_start(struct redis_sentinel *s); /* subscribes, and goes on trying */
void redis_sentinel_ask(struct redis_sentinel *s);   /* again while asking: the same question */
void redis_sentinel_stop(struct redis_sentinel *s);

#endif
