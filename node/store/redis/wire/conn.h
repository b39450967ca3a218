/* One connection to Redis: opened, used, and gone; its owner decides what comes next (link.h
 * connects again). It speaks TLS where that is wanted (tls.h), sends the password, and has a
 * deadline for each call.
 *
 * Answers come in the order of the calls (flight.h), so a call that is not answered in time
 * (and a quarter more) ends the connection: later answers could not be matched any more. So
 * does an answer that nobody asked for. An idle connection is proved by PING, unless it is
 * subscribed: twice in silence_ms, where silence is to be told.
 *
 * hiredis only parses the answers (redisReader): its own asynchronous connection ends the
 * process by an assertion where an answer comes that nobody asked for.
 *
 * Commands sent in one turn of the loop are written at its end, all at once. Encrypted ones
 * wait, too, until Redis has begun to answer those written before: of a TLS connection Redis
 * reads one record a turn of its own, however many have come, and with appendfsync always each
 * turn takes an fsync. So what comes meanwhile is one record, and shares one.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CONN_H
#define DUEQ_NODE_STORE_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/loop.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/flight.h"

struct event;
struct redisReader;
struct redis_replies;
struct redis_tls;
struct redis_tls_session;

/* What Redis is shown at the beginning; all borrowed for the connection's life. */
struct redis_login {
    const char *user;      /* NULL or "": Redis's default user */
    const char *password;  /* NULL or "": no AUTH */
    struct redis_tls *tls; /* NULL: nothing is encrypted */
};

/* The connection may be closed inside each callback. */
struct redis_conn_events {
    void (*on_open)(void *arg); /* connected, TLS agreed on, and AUTH accepted */
    /* Perhaps from inside the owner's own call. The connection still counts as open, and is
     * closed when this returns: nothing may be sent or opened here. */
    void (*on_lost)(void *arg, const char *why);
    /* TLS or AUTH failed for good; after on_lost. */
    void (*on_refused)(void *arg, const char *why);
    void (*on_subscribed)(void *arg);
    void (*on_message)(void *arg, struct bytes payload);
    /* True: though asked, Redis has sent no byte for `silence_ms` (0: never told). False: it
     * answers again. A loss ends the silence without a callback. */
    void (*on_silence)(void *arg, bool is_silent);
    int64_t silence_ms;
    void *arg;
};

struct redis_conn {
    struct redis_conn_events events;
    struct loop *loop;
    struct redis_login login;
    int64_t timeout_ms;
    struct redis_flight flight;
    struct redis_call auth;
    struct redis_call ping;
    struct timer timer; /* how long to connect; then: when to look at the calls */

    const char *host; /* see redis_conn_open() */
    struct redis_address address;
    bool has_agreed; /* on TLS, with this address, once */
    int fd;          /* -1: it is closed, or lost */
    struct event *readable;
    struct event *writable;
    struct turn_end end_of_turn;
    int64_t heard_mono_ms; /* when Redis last sent bytes, or the connection was made */
    bool is_full;          /* the socket takes no more at present */
    bool is_reading;       /* reader and session are in use */
    struct redisReader *reader;
    struct redis_replies *replies;
    struct redis_tls_session *session; /* NULL: not encrypted, or not connected */
    struct buf said;                   /* with a session: what `out` has not yet, encrypted */
    struct redis_call *said_first; /* the first of the calls in `said`; NULL: there is none */
    struct redis_call *read_next;  /* until it is answered, `said` waits; NULL: it does not */
    struct buf out;                /* from `written` on it is still to be written */
    size_t written;

    /* Reset by redis_conn_open(): */
    bool is_connected;  /* by TCP */
    bool may_want_tls;  /* we do not, and it has not answered yet */
    bool is_listening;  /* only messages come from now on */
    bool is_subscribed; /* the subscription is confirmed */
    bool is_silent;     /* silence was told */
    bool is_late;       /* given up because an answer, or TLS's handshake, was late */
};

void redis_conn_init(struct redis_conn *c, struct loop *loop, const struct redis_login *login,
                     int64_t timeout_ms, const struct redis_conn_events *events);
void redis_conn_fini(struct redis_conn *c); /* closed, or lost, and its calls failed */

/* Begins to connect, to a numeric address (a name would block the loop) or a path; on_open or
 * on_lost follows, perhaps at once. Only when closed or lost, and its calls failed. `host`:
 * what the address was found by, for the certificate; borrowed for the connection's life. */
void redis_conn_open(struct redis_conn *c, const struct redis_address *address,
                     const char *host);

/* Is it opened, and neither closed nor lost? */
bool redis_conn_is_open(const struct redis_conn *c);

/* Nothing is called back any more, but for the calls by redis_conn_fail(). Harmless when closed
 * or lost. */
void redis_conn_close(struct redis_conn *c);

/* After close, or on_lost, and not inside them: what was in flight ends with a NULL reply. */
void redis_conn_fail(struct redis_conn *c);

/* Only while open. The arguments are copied. */
void redis_conn_send(struct redis_conn *c, struct redis_call *call, int argc,
                     const char *const *argv, const size_t *lens);
void redis_conn_subscribe(struct redis_conn *c, const char *channel);

#endif
