/* What the HTTP port has to know of the store's link: numbers and texts. The node fills it in,
 * so that nothing here knows Redis.
 */
#ifndef DUEQ_PROTOCOL_HTTP_STORE_H
#define DUEQ_PROTOCOL_HTTP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

#define HTTP_STORE_WEAKNESSES_MAX 10
#define HTTP_STORE_BUCKETS_MAX    128
#define HTTP_STORE_MASTERS_MAX    136 /* with buckets of ours, or that had some just now */

/* Why the store may lose jobs, or keep them waiting. All that can be are told, each whether it
 * is so now. Static texts. */
struct http_store_weakness {
    const char *word;
    const char *what, *advice; /* for people: what is wrong, and what to do */
    bool is_so;
};

/* One of the servers that have the buckets; a store that is no cluster has one. */
struct http_store_master {
    const char *address; /* "" or NULL: not known */
    const char *state;   /* "up", "connecting", "refused"; "leaving": it has no buckets now */
    const char *why;     /* it is not up: for people; "" or NULL */
    const char *breaker; /* as below */
    uint64_t is_up;      /* gauge: 0 or 1 */
    uint64_t buckets;    /* gauge: that are there, reached or not */
    uint64_t in_flight;  /* gauge: operations sent there and not answered */
};

/* A bucket that operations do not reach. */
struct http_store_unreached {
    unsigned bucket;
    const char *address; /* of its master; "" or NULL: nobody has it */
    const char *why;     /* for people; never empty */
};

/* Counters count since the worker's start. */
struct http_store_numbers {
    const char *address;       /* of the one in use; "" or NULL: not known */
    uint64_t is_up;            /* gauge: 0 or 1 */
    uint64_t connects;         /* connections that became usable */
    uint64_t round_trips;      /* operations answered */
    uint64_t errors;           /* of them: with an error, or not in the form of an answer */
    uint64_t lost;             /* operations in flight when the connection broke */
    uint64_t repeated;         /* operations sent again: lost, or not carried out */
    uint64_t expired;          /* operations held for too long */
    uint64_t dropped;          /* operations held, whose client had gone */
    uint64_t overflowed;       /* operations refused because too many were held */
    uint64_t broken;           /* operations refused because the breaker was open */
    uint64_t older;            /* how often the store came back older than it was */
    uint64_t clock_jumps;      /* of its clock, by more than a second against ours */
    uint64_t lost_pushes;      /* of this node: acknowledged, and gone for certain with that */
    uint64_t aof_cut_bytes;    /* gauge: missing at the end of its file when that was loaded */
    uint64_t replica_waits;    /* answers that waited for replicas */
    uint64_t replica_timeouts; /* of them: in vain */
    uint64_t waiting_for_replicas;         /* gauge: answers that wait for replicas */
    uint64_t in_flight;                    /* gauge: operations sent and not answered */
    uint64_t held;                         /* gauge: operations that wait for the link */
    uint64_t held_bytes;                   /* gauge: topics, ids and bodies of both */
    const struct histogram *round_trip_us; /* in microseconds; NULL: not measured */

    const char *breaker; /* "closed", "open" or "half_open"; NULL: there is none */
    uint64_t breaker_trips;
    int64_t breaker_since_mono_ms; /* in that state; 0: from the start */

    struct http_store_weakness weak[HTTP_STORE_WEAKNESSES_MAX];
    unsigned weak_count;

    const struct http_store_master *masters;
    unsigned master_count;                        /* at most HTTP_STORE_MASTERS_MAX */
    const struct http_store_unreached *unreached; /* by bucket; each once */
    unsigned unreached_count;                     /* at most HTTP_STORE_BUCKETS_MAX */

    /* Where buckets move: answers that sent an operation elsewhere, or bade it wait. */
    uint64_t moved;     /* the bucket is at another master */
    uint64_t asked;     /* this once: it is moving there */
    uint64_t try_again; /* some of its keys are here and some there */
    uint64_t down;      /* nobody has it */
    uint64_t maps_read; /* how often it was asked who has which */
};

#endif
