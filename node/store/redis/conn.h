/* One connection of hiredis: opened, used, and gone. What to do then is its owner's
 * (session.c).
 *
 * It hides what hiredis is particular about. A context whose owner has let go of it may still
 * call back: those calls end here. One that is lost frees itself, when it has called back.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CONN_H
#define DUEQ_NODE_STORE_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/loop.h"

struct redisAsyncContext;
struct redisReply;
struct redis_address;
struct redis_replies;

struct redis_conn_events {
    void (*on_connect)(void *arg); /* must not close it: hiredis 0.14 would go on with it */
    void (*on_reply)(void *arg, void *call, const struct redisReply *reply);
    void (*on_subscribed)(void *arg);
    void (*on_message)(void *arg, struct bytes payload); /* on the subscribed channel */
    void (*on_lost)(void *arg, const char *why); /* the last; it may be opened again, later */
    void *arg;
};

struct redis_conn {
    struct loop *loop;
    struct redis_conn_events events;
    struct redisAsyncContext *redis; /* NULL: there is none */
    struct buf command;              /* on its way to hiredis */
    struct redis_replies *replies;
};

void redis_conn_init(struct redis_conn *c, struct loop *loop,
                     const struct redis_conn_events *events);
void redis_conn_fini(struct redis_conn *c); /* closed, or lost */

/* Begins to connect, to a numeric address (a name would block the loop) or a path; on_connect
 * or on_lost follows. Else why not: then it must be closed. The text is valid until it is. */
const char *redis_conn_open(struct redis_conn *c, const struct redis_address *address);

/* Is it opened, and neither closed nor lost? */
bool redis_conn_is_open(const struct redis_conn *c);

/* Nothing is called back any more. */
void redis_conn_close(struct redis_conn *c);

/* The arguments are copied. False: it is of no use any more. */
bool redis_conn_send(struct redis_conn *c, void *call, int argc, const char **argv,
                     const size_t *lens);
bool redis_conn_subscribe(struct redis_conn *c, const char *channel);

/* Is there something that only waits to be read? */
bool redis_conn_has_unread(const struct redis_conn *c);

#endif
