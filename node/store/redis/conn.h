/* One connection to Redis: opened, used, and gone. What to do then is its owner's (session.c).
 *
 * The bytes are ours, and hiredis reads the answers in them (redisReader): its own asynchronous
 * connection ends the process by an assertion where an answer comes that nobody asked for. What
 * an answer belongs to is the owner's to know.
 *
 * What is sent in one turn of the loop is written at its end, all at once.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CONN_H
#define DUEQ_NODE_STORE_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"

struct event;
struct redisReader;
struct redisReply;
struct redis_address;
struct redis_replies;

/* It may be closed inside each of them. */
struct redis_conn_events {
    void (*on_connect)(void *arg);
    /* Whatever has come, asked for or not; valid for the duration of the callback. */
    void (*on_reply)(void *arg, const struct redisReply *reply);
    void (*on_lost)(void *arg, const char *why); /* the last; it may be opened again, later */
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
    int64_t heard_mono_ms; /* the last bytes of Redis; from the beginning on: connected */
    bool is_full;          /* the socket takes no more at present */
    bool is_reading;       /* the reader is in use */
    struct redisReader *reader;
    struct redis_replies *replies;
    struct buf out; /* from `written` on it is still to be written */
    size_t written;
    char why[128]; /* it could not be opened, or was lost */
};

void redis_conn_init(struct redis_conn *c, struct loop *loop,
                     const struct redis_conn_events *events);
void redis_conn_fini(struct redis_conn *c); /* closed, or lost */

/* Begins to connect, to a numeric address (a name would block the loop) or a path; on_connect
 * or on_lost follows. Else why not: then it is closed. The text is valid until it is opened
 * again. Not from inside a callback. */
const char *redis_conn_open(struct redis_conn *c, const struct redis_address *address);

/* Is it opened, and neither closed nor lost? */
bool redis_conn_is_open(const struct redis_conn *c);

/* Nothing is called back any more. */
void redis_conn_close(struct redis_conn *c);

/* Only while it is open. The arguments are copied. */
void redis_conn_send(struct redis_conn *c, int argc, const char *const *argv,
                     const size_t *lens);

/* Is there something that only waits to be read? */
bool redis_conn_has_unread(const struct redis_conn *c);

#endif
