/* One connection to Redis: connects, says the password, and has a deadline for each call. It
 * does not come back by itself: that is its owner's (link.c).
 *
 * Answers come in the order of the calls, so a call that is not answered in time (and a quarter
 * more) ends the connection: later answers could not be matched any more. So does one that
 * nobody asked for. Deadlines cost one timer, because every call has the same time to be
 * answered in. An idle connection is proved by PING, unless it is subscribed: where silence is
 * to be told, twice in that time.
 */
#ifndef DUEQ_NODE_STORE_REDIS_SESSION_H
#define DUEQ_NODE_STORE_REDIS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/store/redis/address.h"
#include "node/store/redis/conn.h"
#include "node/store/redis/flight.h"

struct redis_session_events {
    void (*on_open)(void *arg);                  /* connected, and AUTH accepted */
    void (*on_lost)(void *arg, const char *why); /* perhaps from inside a call of the owner's */
    void (*on_refused)(void *arg, const char *why); /* AUTH failed for good; after on_lost */
    void (*on_subscribed)(void *arg);
    void (*on_message)(void *arg, struct bytes payload);
    /* Asked, it has sent no byte for `silence_ms` (0: not told), and answers again. A loss ends
     * it without a word. */
    void (*on_silence)(void *arg, bool is_silent);
    int64_t silence_ms;
    void *arg;
};

struct redis_session {
    struct redis_session_events events;
    struct loop *loop;
    const char *password;
    int64_t timeout_ms;
    struct redis_conn conn;
    struct redis_flight flight;
    struct redis_call auth;
    struct redis_call ping;
    struct timer timer; /* how long to connect; then: when to look at the calls */
    bool is_connected;  /* by TCP; reset by redis_session_connect() */
    bool is_listening;  /* so, too: only messages come from now on */
    bool is_subscribed; /* so, too: and they do */
    bool is_silent;     /* so, too: and that was told */
    bool is_late;       /* so, too: it was given up because an answer was */
};

/* The password (NULL or "": no AUTH) is borrowed for its life. */
void redis_session_init(struct redis_session *s, struct loop *loop, const char *password,
                        int64_t timeout_ms, const struct redis_session_events *events);
void redis_session_fini(struct redis_session *s); /* closed, or lost, and its calls failed */

/* on_open or on_lost follows. Closed, or lost, and its calls failed. */
void redis_session_connect(struct redis_session *s, const struct redis_address *address);

/* Nothing is called back any more but its calls, by redis_session_fail(). Harmless when it is
 * closed or lost. */
void redis_session_close(struct redis_session *s);

/* After close, or on_lost, and not inside them: what was in flight ends with a NULL reply. */
void redis_session_fail(struct redis_session *s);

/* Only while open. The arguments are copied. */
void redis_session_send(struct redis_session *s, struct redis_call *call, int argc,
                        const char **argv, const size_t *lens);
void redis_session_subscribe(struct redis_session *s, const char *channel);

#endif
