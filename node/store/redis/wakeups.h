/* Hears which topics turned from empty to ready, and (with a '=' before the name) whose
 * settings have changed: the subscription to `<prefix>:ready`. ">7 42 300": a topic of share 42
 * of bucket 7 has an event in 300 ms, says another node.
 *
 * PING would prove that the connection lives, not that published words are heard. So a word is
 * published over each command link, and waited for (a beat). The words begin with '-', which no
 * topic does. When a published word is not heard until the next beat, the connection is closed
 * and made anew, perhaps at another Redis.
 *
 * One of several masters may be cut off from the others, so that they do not hear its word. So
 * the subscription stays at a master that hears at least half, or something where none is known
 * to hear more. on_missed makes up for the others, four times as often as a beat.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WAKEUPS_H
#define DUEQ_NODE_STORE_REDIS_WAKEUPS_H

#include <stdbool.h>

#include "base/list.h"
#include "node/store/redis/wire/link.h"
#include "node/store/store.h"

struct redis_beat;

struct redis_wakeups_options {
    struct redis_address address; /* host "": redis_wakeups_aim() says it */
    struct redis_login login;
    const char *prefix;
    int64_t timeout_ms; /* to connect, to subscribe; the time between beats */
    int64_t backoff_max_ms;

    /* Who hears what others publish (on_ready, on_settings, on_identities,
     * on_hint); borrowed. */
    const struct store_events *events;
    unsigned buckets;

    /* As that of a link; NULL: to the address there is. */
    void (*on_look)(void *arg);
    /* How many buckets depend on words published over that link. NULL: there is one Redis. */
    unsigned (*weigh)(void *arg, const struct redis_beat *beat);
    /* Words published there may have been lost; called again and again until one is heard. May
     * be NULL. */
    void (*on_missed)(void *arg, const struct redis_beat *beat);
    void (*on_up)(void *arg); /* the subscription is confirmed */
    void (*on_down)(void *arg);
    void (*on_stopped)(void *arg);
    void *arg;
};

struct redis_wakeups;

/* The words published over one command link. The caller embeds it. */
struct redis_beat {
    struct list link;
    struct redis_link *commands;
    struct redis_call publish;
    char word[32];
    bool is_publishing; /* its answer is awaited */
    bool is_owed;       /* it was published and is not heard yet */
    bool is_heard;      /* the last one; since the subscription opened, or the link */
    bool is_unheard;    /* not heard in time; until it is, or the subscription closes */
    bool is_said;       /* the log says so */
    unsigned missed_at; /* the weight of those not heard at this master, when it was last
                         * subscribed to; 0 again when all are heard at any */
};

struct redis_wakeups *redis_wakeups_new(struct loop *loop,
                                        const struct redis_wakeups_options *options);
void redis_wakeups_free(struct redis_wakeups *w);

/* `commands` publishes a beat now and then while it is open; borrowed until it is taken out,
 * which is when nothing is in flight on it. */
void redis_wakeups_add(struct redis_wakeups *w, struct redis_beat *beat,
                       struct redis_link *commands);
void redis_wakeups_remove(struct redis_wakeups *w, struct redis_beat *beat);

/* The beat's link has just come back: perhaps its words are not heard any more. A word goes
 * now, and has a quarter of the usual time. */
void redis_wakeups_prove(struct redis_wakeups *w, struct redis_beat *beat);

/* This process stood still, and perhaps the network did: a connection may be dead, or wait for
 * seconds until the other side tries again. All beats go now, and have half a second. Where the
 * process stands still again before a beat is heard, that beat gets a fifth of that time more,
 * then a fifth of the fifth.
 */
void redis_wakeups_prove_all(struct redis_wakeups *w);

void redis_wakeups_start(struct redis_wakeups *w);
void redis_wakeups_stop(struct redis_wakeups *w); /* before the command links are stopped */

/* As redis_link_aim(). */
void redis_wakeups_aim(struct redis_wakeups *w, const struct redis_address *address);

/* As redis_link_address(). */
const struct redis_address *redis_wakeups_address(const struct redis_wakeups *w);

/* That Redis is given up: where the subscription is there, another one is looked for. */
void redis_wakeups_leave(struct redis_wakeups *w, const struct redis_address *address);

/* Publishes the hint over that link, which is open, to all nodes, this one included. */
void redis_wakeups_hint(struct redis_wakeups *w, struct redis_link *commands, unsigned bucket,
                        unsigned share, int64_t wait_ms);

bool redis_wakeups_are_up(const struct redis_wakeups *w);

/* As redis_link_why(). */
const char *redis_wakeups_why(const struct redis_wakeups *w);

#endif
