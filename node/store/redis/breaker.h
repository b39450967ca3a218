/* The circuit breaker: when refusing at once is better than waiting (doc/redis.md).
 *
 *   CLOSED --- nothing answered for after_ms, or `failures` late answers ---> OPEN
 *      ^                                                                       |
 *      | `probes` answered                breaker_connected, an answer, breaker_try  |
 *      +-------------------------- HALF_OPEN <---------------------------------+
 *                                      |                                       ^
 *                                      +----- breaker_lost, or silence --------+
 *
 * An answer, a loss or a new connection ends OPEN. With a good connection and nothing in flight
 * none of these may come: then breaker_try ends OPEN, after BREAKER_RETRY_MS.
 *
 * Pure: no timer, nothing is sent. The caller brings the time, and each answer is true for that
 * time.
 */
#ifndef DUEQ_NODE_STORE_REDIS_BREAKER_H
#define DUEQ_NODE_STORE_REDIS_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_RETRY_MS 1000

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN, BREAKER_STATES };

struct redis_breaker {
    int64_t after_ms;  /* of the configuration; 0: never opens for silence */
    unsigned failures; /* 0: never opens for late answers */
    unsigned probes;   /* 1 or more */

    enum breaker_state state;
    int64_t since_mono_ms;        /* in this state */
    int64_t silent_since_mono_ms; /* since when requests wait unanswered; -1: none do */
    unsigned late;                /* connections given up for a late answer, in a row */
    unsigned proved;              /* HALF_OPEN: probes answered */
    uint64_t trips;               /* since the start: how often it has opened */
};

void breaker_init(struct redis_breaker *b, int64_t after_ms, unsigned failures,
                  unsigned probes);

/* A request waits for this Redis: it is in flight, or held because there is no connection. A
 * request held for another reason (its bucket moves, say) shows no silence of Redis. May be
 * called for each request. */
void breaker_asked(struct redis_breaker *b, int64_t now_mono_ms);

/* A request was answered, well or not. */
void breaker_answered(struct redis_breaker *b, int64_t now_mono_ms);

/* The connection is lost. `is_late`: it was given up, because an answer did not come in time.
 */
void breaker_lost(struct redis_breaker *b, bool is_late, int64_t now_mono_ms);

/* A connection has passed the handshake. */
void breaker_connected(struct redis_breaker *b, int64_t now_mono_ms);

/* No request waits for Redis any more: there is no silence to measure. */
void breaker_idle(struct redis_breaker *b);

/* OPEN, with a good connection and nothing in flight: is it time to try some requests? Then it
 * is HALF_OPEN. */
bool breaker_try(struct redis_breaker *b, int64_t now_mono_ms);

/* Time has gone by: looks whether Redis has been silent for too long. Returns when to look
 * again; -1: not before another call of the others. */
int64_t breaker_look(struct redis_breaker *b, int64_t now_mono_ms);

/* May one more be sent while so many are in flight? */
bool breaker_passes(const struct redis_breaker *b, unsigned in_flight);

/* Is a new request refused at once? */
bool breaker_refuses(const struct redis_breaker *b);

/* "closed", "open", "half_open". */
const char *breaker_word(enum breaker_state state);

#endif
