/* What the HTTP port has to know of the store's link: numbers and texts. The node fills it in,
 * so that nothing here knows Redis.
 */
#ifndef DUEQ_PROTOCOL_HTTP_STORE_H
#define DUEQ_PROTOCOL_HTTP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

#define HTTP_STORE_WEAKNESSES_MAX 8

/* Why the store may lose jobs, or keep them waiting. All that can be are told, each whether it
 * is so now. Static texts. */
struct http_store_weakness {
    const char *word;
    const char *what, *advice; /* for people: what is wrong, and what to do */
    bool is_so;
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
    uint64_t lost_pushes;      /* of this node: acknowledged, and gone for certain with that */
    uint64_t replica_waits;    /* answers that waited for replicas */
    uint64_t replica_timeouts; /* of them: in vain */
    uint64_t waiting_for_replicas;         /* gauge: answers that wait for replicas */
    uint64_t in_flight;                    /* gauge: operations sent and not answered */
    uint64_t held;                         /* gauge: operations that wait for the link */
    uint64_t held_bytes;                   /* gauge: memory of both */
    const struct histogram *round_trip_us; /* in microseconds; NULL: not measured */

    const char *breaker; /* "closed", "open" or "half_open"; NULL: there is none */
    uint64_t breaker_trips;
    int64_t breaker_since_mono_ms; /* in that state; 0: from the start */

    struct http_store_weakness weak[HTTP_STORE_WEAKNESSES_MAX];
    unsigned weak_count;
};

#endif
