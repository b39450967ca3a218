/* The store port on Redis.
 *
 * Each master has a connection for commands, pipelined; one more connection hears wake-ups. An
 * operation is one script, sent with EVALSHA (wire/scripts.h); wire/reply.h reads its answer.
 * While Redis cannot be reached, or more is in flight than allowed, operations wait in their
 * bucket, first come first served, each for up to `hold_ms`; then they are UNAVAILABLE.
 * Operations in flight when the connection is lost are sent again, where they can be retried
 * (wait_queue.h); else they are UNKNOWN.
 *
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
 *   wire/         link (a connection that comes back), conn (one of them), scripts and encode
 *                 (operations to commands), reply (answers to outputs)
 *   lua/          the scripts
 */
#ifndef DUEQ_NODE_STORE_REDIS_STORE_H
#define DUEQ_NODE_STORE_REDIS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/loop.h"
#include "node/store/counters.h"
#include "node/store/redis/breaker.h"
#include "node/store/store.h"

struct redis_store_options {
    const char *address;  /* "unix:/path", "host", "host:port", "[v6]:port",
                           * "sentinel://MASTER@host:port,...", "cluster://host:port,..." */
    const char *password; /* NULL or "": none */
    const char *prefix;   /* of all keys: 1 to 32 of [A-Za-z0-9_.-] */
    unsigned buckets;     /* 1 to 128 */
    bool is_strict;       /* refuse a Redis that may lose jobs, instead of a warning */
    /* The embedded Redis only: bytes cut off its append-only file when it was loaded; may rise
     * at any time. NULL: another Redis. */
    const _Atomic uint64_t *aof_cut_bytes;

    int64_t command_timeout_ms;
    int64_t hold_ms;      /* how long an operation waits for Redis to come back */
    int64_t silence_ms;   /* see on_silence; asked for twice in that time; 0: not told */
    int64_t reconnect_ms; /* the longest pause between two attempts */
    int64_t look_ms;      /* how often to look whether Redis may lose jobs */
    unsigned flight_max; /* operations sent and not answered; more than that wait, but for those
                          * of OP_FENCED */
    size_t replies_max;  /* bytes of large replies to come from one Redis, and again of replies
                          * of unknown size; more than that wait. A larger one comes alone */
    unsigned held_max;   /* operations waiting; one more is TOO_MANY */
    size_t bytes_max;    /* of all of them together, about */

    int64_t breaker_after_ms;  /* see breaker.h */
    unsigned breaker_failures; /* see breaker.h */
    unsigned breaker_probes;   /* see breaker.h */

    unsigned min_replicas;         /* that must have a write before its answer; 0: none */
    int64_t replica_timeout_ms;    /* how long they are waited for */
    const char *sentinel_password; /* of the Sentinels in `address`; NULL or "": none */

    /* This Redis must not be used: other buckets, a newer schema, a wrong password, too old,
     * or unsafe while is_strict. The store goes on trying, in case somebody sets Redis right; a
     * node that starts should end with this message. Called once, until the store has been up
     * again. May be NULL. */
    void (*on_refused)(void *arg, const char *why);

    /* Each time the store is up, after the port's own on_up. May be NULL. */
    void (*on_up)(void *arg);

    /* Each time the store is down, after the port's own on_down. May be NULL. */
    void (*on_down)(void *arg);

    /* True: though asked, no connected master has sent anything for silence_ms. False: one
     * answers again, or the store is down. May be NULL. */
    void (*on_silence)(void *arg, bool is_silent);
    void *arg;
};

/* Everything but the texts, `prefix` ("dq") and `buckets` (64) included. */
struct redis_store_options redis_store_defaults(void);

enum redis_store_state {
    REDIS_STORE_DOWN,    /* no connection, or the handshake is not done */
    REDIS_STORE_UNHEARD, /* commands work, wake-ups are not heard */
    REDIS_STORE_UP,
};

/* Counters since start; gauges where it says so. */
struct redis_store_stats {
#define X(field, ...) uint64_t field;
    STORE_METRICS(X)
#undef X
    uint64_t answered[OP_COUNT];    /* operations by verb, whatever the answer */
    uint64_t refused;               /* errors of Redis or of a script */
    uint64_t malformed;             /* answers that were not a script's */
    uint64_t unknown;               /* may have happened, and nobody can tell any more */
    uint64_t reloaded;              /* scripts Redis did not know any more */
    uint64_t moved;                 /* answers of a Redis Cluster: MOVED, */
    uint64_t asked;                 /* ASK, */
    uint64_t try_again;             /* TRYAGAIN, and a script's key that is not there, */
    uint64_t down;                  /* CLUSTERDOWN, and what names nobody */
    enum breaker_state breaker;     /* gauge */
    int64_t breaker_since_mono_ms;  /* gauge: in this state; 0: from the start */
    int64_t silent_since_mono_ms;   /* gauge: when that was told; 0: it answers, or is down */
    unsigned weak;                  /* gauge: 1 << enum weakness of each */
    enum redis_store_state state;   /* gauge */
    struct histogram round_trip_us; /* microseconds from the sending to the answer */
};

struct redis_store;

/* Texts of the options are borrowed for the store's life. NULL when the address, the prefix
 * or the number of buckets is not allowed; the log says which. */
struct redis_store *redis_store_new(struct loop *loop,
                                    const struct redis_store_options *options);
void redis_store_free(struct redis_store *s); /* stopped or never started; NULL is fine */

/* Takes over how long and how many operations wait, and the breaker's numbers; nothing else of
 * the options. An operation that waits already waits no longer than a new one. */
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
