/* The store port on Redis.
 *
 * Each master has a connection for commands, pipelined; one more connection hears wake-ups. An
 * operation is one script, sent with EVALSHA (wire/encode.h); wire/decode.h reads its answer.
 * While Redis cannot be reached, or more is in flight than allowed, operations wait in their
 * bucket, first come first served, each for up to `hold_ms`; then they are UNAVAILABLE.
 * Operations in flight when the connection is lost are sent again, where they can be retried
 * (wait_queue.h); else they are UNKNOWN.
 *
 *   options       what all parts are set to and count; parts: the parts put together, and what
 *                 each tells the store, by functions that its header declares
 *   requests      operations on their way: waiting (wait_queue), sent, answered (outcomes)
 *   route         which lane a bucket goes by, and whether requests can go there
 *   lane          one master: its link, handshake, breaker, replicas, what is on its way
 *   handshake     the checks of a fresh connection before it is used
 *   durability    how safe a Redis keeps jobs, judged by its set-up
 *   rollback      what was seen of each bucket, to notice a rollback; push_ledger
 *   replicas      answers that wait until replicas have the writes; a connection of its own
 *   wakeups       the subscription
 *   follow        where a link goes: a fixed address, or the master that Sentinels name
 *   topology/     which masters there are: Sentinels, the map of a Redis Cluster
 *   wire/         link (a connection that comes back), conn (one of them), tls (what it says,
 *                 encrypted), encode (an operation to a command), reply and decode (an answer
 *                 to outputs)
 *   lua/          the scripts
 */
#ifndef DUEQ_NODE_STORE_REDIS_STORE_H
#define DUEQ_NODE_STORE_REDIS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "node/store/redis/options.h"
#include "node/store/store.h"

/* Everything but the texts, `prefix` ("dq") and `buckets` (64) included. */
struct redis_store_options redis_store_defaults(void);

struct redis_store;

/* Texts of the options are borrowed for the store's life. NULL when the address, the prefix
 * or the number of buckets is not allowed; the log says which. */
struct redis_store *redis_store_new(struct loop *loop,
                                    const struct redis_store_options *options);
void redis_store_free(struct redis_store *s); /* stopped or never started; NULL is fine */

/* Takes over how long and how many operations wait, and the breaker's numbers; nothing else of
 * the options (what redis_tls_load() takes holds by itself, and is only counted here). An
 * operation that waits already waits no longer than a new one. */
void redis_store_reload(struct redis_store *s, const struct redis_store_options *options);

/* This process stood still: what is published may not be heard any more. */
void redis_store_stood_still(struct redis_store *s);
struct store *redis_store_port(struct redis_store *s);

/* Connects, and connects again after each loss. The port's events must be set. */
void redis_store_start(struct redis_store *s);

/* Call once. Held operations, and those submitted from now on, end with SHUTTING_DOWN; those in
 * flight are waited for; then the connections are closed and on_stopped is called. */
void redis_store_stop(struct redis_store *s, void (*on_stopped)(void *arg), void *arg);

/* While the store stops: waits no longer. Operations in flight end with UNKNOWN, soon. */
void redis_store_stop_now(struct redis_store *s);
const struct redis_store_stats *redis_store_stats(const struct redis_store *s);

/* A master as the store sees it. Texts are borrowed until the next turn of the loop. */
struct redis_lane_stats {
    const char *address;
    const char *state; /* "up", "connecting", "refused", "leaving" */
    const char *why;   /* for people; "" when it is up */
    bool is_up;
    unsigned buckets; /* that go by it */
    uint64_t in_flight;
    enum breaker_state breaker;
};

/* How many lanes there are, and the one with index `i`, oldest first. */
unsigned redis_store_lanes(const struct redis_store *s);
void redis_store_lane(const struct redis_store *s, unsigned i, struct redis_lane_stats *to);

/* Why operations do not reach a bucket, for people, and the address of its master, "" where it
 * has none; NULL: they do reach it. Borrowed until the next turn of the loop, too. */
const char *redis_store_bucket_why(const struct redis_store *s, unsigned bucket,
                                   const char **address);

/* The Redis in use, "10.0.0.1:6379" or "unix:/path"; "" until Sentinels have named it. Borrowed
 * until the next turn of the loop. */
const char *redis_store_address(const struct redis_store *s);

/* Why Redis, or every master that is reached, answers but refuses all writes, for people; NULL:
 * it does not. */
const char *redis_store_refuses_writes(const struct redis_store *s);

/* Why the store is not up, for people: "" when it is, or before the first attempt. Borrowed
 * until the next turn of the loop. */
const char *redis_store_why(const struct redis_store *s);

#endif
