/* What a store on Redis is set to, and what it counts: for all of its parts. */
#ifndef DUEQ_NODE_STORE_REDIS_OPTIONS_H
#define DUEQ_NODE_STORE_REDIS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "node/store/counters.h"
#include "node/store/op.h"
#include "node/store/redis/breaker.h"
#include "node/store/redis/wire/conn.h"

struct redis_store_options {
    const char *address;   /* "unix:/path", "host", "host:port", "[v6]:port",
                            * "sentinel://MASTER@host:port,...", "cluster://host:port,..." */
    const char *user;      /* NULL or "": Redis's default user */
    const char *password;  /* NULL or "": none */
    struct redis_tls *tls; /* of Redis, and of the Sentinels; NULL: nothing is encrypted */
    const char *prefix;    /* of all keys: 1 to 32 of [A-Za-z0-9_.-] */
    unsigned buckets;      /* 1 to 128 */
    bool is_strict;        /* refuse a Redis that may lose jobs, instead of a warning */
    /* The embedded Redis only: bytes cut off its append-only file when it was loaded; may rise
     * at any time. NULL: another Redis. */
    const _Atomic uint64_t *aof_cut_bytes;

    int64_t command_timeout_ms;
    int64_t hold_ms;      /* how long an operation waits for Redis to come back */
    int64_t silence_ms;   /* see on_silence; asked for twice in that time; 0: not told */
    int64_t reconnect_ms; /* the longest pause between two attempts */
    int64_t look_ms;      /* how often to look whether Redis may lose jobs */
    unsigned flight_max; /* operations sent and not answered; more than that wait, but for those
                          * of TRAIT_FENCED */
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

static inline struct redis_login redis_store_login(const struct redis_store_options *options)
{
    return (struct redis_login){options->user, options->password, options->tls};
}

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

#endif
