/* One connection to Redis: opened, used, and gone; its owner decides what comes next.
 *
 * hiredis only parses the answers (redisReader): its own asynchronous connection ends the
 * process by an assertion where an answer comes that nobody asked for. The owner knows which
 * call an answer belongs to.
 *
 * Commands sent in one turn of the loop are written at its end, all at once.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CONN_H
#define DUEQ_NODE_STORE_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/list.h"
#include "base/loop.h"
#include "node/store/redis/wire/address.h"

/* The calls of one connection that Redis has not answered, and their deadlines.
 *
 * Answers come in the order of the calls, and all have the same time: the oldest call has the
 * first deadline, and one timer is enough for all of them. A call may have been written late,
 * because the node itself stood still; so a call whose time is over gets a quarter more, once.
 */

struct redisReply;

/* The caller embeds it. From on_reply on it is the caller's again. */
struct redis_call {
    /* Once: with the reply, valid for the duration of the callback, or with NULL when the
     * connection was lost (the command may have been carried out). */
    void (*on_reply)(struct redis_call *call, const struct redisReply *reply);
    struct list link;
    int64_t sent_mono_ms;
    int64_t deadline_mono_ms;
    bool is_late; /* the deadline has been moved once */
};

struct redis_flight {
    struct list calls; /* oldest first */
    int64_t timeout_ms;
};

void redis_flight_init(struct redis_flight *f, int64_t timeout_ms);
bool redis_flight_is_empty(const struct redis_flight *f);
void redis_flight_add(struct redis_flight *f, struct redis_call *call, int64_t now_mono_ms);

/* The oldest call, whose answer has come: it is in flight no more. */
struct redis_call *redis_flight_take(struct redis_flight *f);

/* How long to wait for the next answer; 0 or less: no longer. Not for an empty flight. */
int64_t redis_flight_left_ms(struct redis_flight *f, int64_t now_mono_ms);

/* The connection is lost: all calls get NULL. */
void redis_flight_fail(struct redis_flight *f);

struct event;
struct redisReader;
struct redisReply;
struct redis_address;
struct redis_replies;

/* The connection may be closed inside each callback. */
struct redis_conn_events {
    void (*on_connect)(void *arg);
    /* Whatever has come, asked for or not; valid for the duration of the callback. */
    void (*on_reply)(void *arg, const struct redisReply *reply);
    void (*on_lost)(void *arg, const char *why); /* the last call; open it again only later */
    void *arg;
};

struct redis_conn {
    struct loop *loop;
    struct redis_conn_events events;
    int fd; /* -1: it is closed, or lost */
    struct event *readable;
    struct event *writable;
    struct event *end_of_turn; /* never in the kernel: made active by hand */
    bool is_connected;
    int64_t heard_mono_ms; /* when Redis last sent bytes, or the connection was made */
    bool is_full;          /* the socket takes no more at present */
    bool is_reading;       /* the reader is in use */
    struct redisReader *reader;
    struct redis_replies *replies;
    struct buf out; /* from `written` on it is still to be written */
    size_t written;
    char why[128]; /* why it could not be opened, or was lost */
};

void redis_conn_init(struct redis_conn *c, struct loop *loop,
                     const struct redis_conn_events *events);
void redis_conn_fini(struct redis_conn *c); /* closed, or lost */

/* Begins to connect, to a numeric address (a name would block the loop) or a path; on_connect
 * or on_lost follows. Returns NULL; else why not: it stays closed then. The text is valid until
 * the next open. Not from inside a callback. */
const char *redis_conn_open(struct redis_conn *c, const struct redis_address *address);

/* Is it opened, and neither closed nor lost? */
bool redis_conn_is_open(const struct redis_conn *c);

/* Nothing is called back any more. */
void redis_conn_close(struct redis_conn *c);

/* Only while it is open. The arguments are copied. */
void redis_conn_send(struct redis_conn *c, int argc, const char *const *argv,
                     const size_t *lens);

/* A session: a connection that sends the password, and has a deadline for each call. Its owner
 * (link.c) connects again.
 *
 * Answers come in the order of the calls, so a call that is not answered in time (and a quarter
 * more) ends the connection: later answers could not be matched any more. So does an answer
 * that nobody asked for. An idle connection is proved by PING, unless it is subscribed: twice
 * in silence_ms, where silence is to be told.
 */

struct redis_session_events {
    void (*on_open)(void *arg);                  /* connected, and AUTH accepted */
    void (*on_lost)(void *arg, const char *why); /* perhaps from inside the owner's own call */
    void (*on_refused)(void *arg, const char *why); /* AUTH failed for good; after on_lost */
    void (*on_subscribed)(void *arg);
    void (*on_message)(void *arg, struct bytes payload);
    /* True: though asked, Redis has sent no byte for `silence_ms` (0: never told). False: it
     * answers again. A loss ends the silence without a callback. */
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
    bool is_listening;  /* the same: only messages come from now on */
    bool is_subscribed; /* the same: the subscription is confirmed */
    bool is_silent;     /* the same: silence was told */
    bool is_late;       /* the same: given up because an answer was late */
};

/* The password (NULL or "": no AUTH) is borrowed for the session's life. */
void redis_session_init(struct redis_session *s, struct loop *loop, const char *password,
                        int64_t timeout_ms, const struct redis_session_events *events);
void redis_session_fini(struct redis_session *s); /* closed, or lost, and its calls failed */

/* on_open or on_lost follows. Only when closed or lost, and its calls failed. */
void redis_session_connect(struct redis_session *s, const struct redis_address *address);

/* Nothing is called back any more, but for the calls by redis_session_fail(). Harmless when
 * closed or lost. */
void redis_session_close(struct redis_session *s);

/* After close, or on_lost, and not inside them: what was in flight ends with a NULL reply. */
void redis_session_fail(struct redis_session *s);

/* Only while open. The arguments are copied. */
void redis_session_send(struct redis_session *s, struct redis_call *call, int argc,
                        const char **argv, const size_t *lens);
void redis_session_subscribe(struct redis_session *s, const char *channel);

#endif
