#include "node/store/redis/events.h"

#include <stdbool.h>
#include <stdlib.h>

#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

struct redis_events {
    redisAsyncContext *redis;
    struct event *readable;
    struct event *writable;
    struct event *end_of_turn; /* never in the kernel: made active by hand */
    bool must_watch;           /* the socket is not known to take more */
};

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct redis_events *e = arg;

    redisAsyncHandleRead(e->redis);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct redis_events *e = arg;

    redisAsyncHandleWrite(e->redis); /* may free e */
}

static void on_end_of_turn(evutil_socket_t fd, short what, void *arg)
{
    struct redis_events *e = arg;

    if (e->must_watch)
        return;
    e->must_watch = true; /* until del_write says that all was taken */
    redisAsyncHandleWrite(e->redis);
}

/* ---- what hiredis asks for ---- */

static void add_read(void *arg)
{
    struct redis_events *e = arg;

    if (!event_pending(e->readable, EV_READ, NULL))
        event_add(e->readable, NULL);
}

static void del_read(void *arg)
{
    struct redis_events *e = arg;

    event_del(e->readable);
}

static void add_write(void *arg)
{
    struct redis_events *e = arg;

    if (e->must_watch)
        event_add(e->writable, NULL);
    else
        event_active(e->end_of_turn, EV_TIMEOUT, 0);
}

static void del_write(void *arg)
{
    struct redis_events *e = arg;

    e->must_watch = false;
    if (event_pending(e->writable, EV_WRITE, NULL))
        event_del(e->writable);
}

static void cleanup(void *arg)
{
    struct redis_events *e = arg;

    event_free(e->readable);
    event_free(e->writable);
    event_free(e->end_of_turn);
    free(e);
}

void redis_events_attach(struct redisAsyncContext *redis, struct event_base *base)
{
    struct redis_events *e = calloc(1, sizeof(*e));

    if (!e)
        abort();
    e->redis = redis;
    e->must_watch = true;
    e->readable = event_new(base, redis->c.fd, EV_READ | EV_PERSIST, on_readable, e);
    e->writable = event_new(base, redis->c.fd, EV_WRITE | EV_PERSIST, on_writable, e);
    e->end_of_turn = evtimer_new(base, on_end_of_turn, e);
    if (!e->readable || !e->writable || !e->end_of_turn)
        abort();
    redis->ev.data = e;
    redis->ev.addRead = add_read;
    redis->ev.delRead = del_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = del_write;
    redis->ev.cleanup = cleanup;
}
