#include "node/store/redis/conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "node/store/redis/command.h"
#include "node/store/redis/events.h"
#include "node/store/redis/address.h"
#include "node/store/redis/replies.h"

void redis_conn_init(struct redis_conn *c, struct loop *loop,
                     const struct redis_conn_events *events)
{
    *c = (struct redis_conn){.loop = loop, .events = *events, .command = BUF_INIT};
    c->replies = redis_replies_new();
}

void redis_conn_fini(struct redis_conn *c)
{
    buf_fini(&c->command);
    redis_replies_free(c->replies);
}

bool redis_conn_is_open(const struct redis_conn *c)
{
    return c->redis != NULL;
}

static void let_go(struct redis_conn *c)
{
    c->redis->data = NULL;
    c->redis = NULL;
}

void redis_conn_close(struct redis_conn *c)
{
    redisAsyncContext *redis = c->redis;

    let_go(c);
    redisAsyncFree(redis);
}

/* ---- what hiredis says ---- */

/* By then hiredis is about to free the context. */
static void lose(struct redis_conn *c, const char *otherwise)
{
    const char *why = c->redis->errstr;

    let_go(c);
    c->events.on_lost(c->events.arg, why && *why ? why : otherwise);
}

static void on_reply(redisAsyncContext *redis, void *reply, void *call)
{
    struct redis_conn *c = redis->data;

    if (!c)
        return;
    loop_touch(c->loop);
    if (reply)
        c->events.on_reply(c->events.arg, call, reply);
    else
        lose(c, "connection lost");
}

/* "subscribe", channel, count; or "message", channel, payload. */
static void take_push(struct redis_conn *c, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 || !reply->element[0]->str)
        return;
    if (!strcmp(reply->element[0]->str, "subscribe"))
        c->events.on_subscribed(c->events.arg);
    else if (reply->element[2]->type == REDIS_REPLY_STRING)
        c->events.on_message(c->events.arg,
                             bytes_of(reply->element[2]->str, reply->element[2]->len));
}

static void on_push(redisAsyncContext *redis, void *reply, void *arg)
{
    struct redis_conn *c = redis->data;

    if (!c)
        return;
    loop_touch(c->loop);
    if (reply)
        take_push(c, reply);
    else
        lose(c, "subscription lost");
}

static void on_disconnect(const redisAsyncContext *redis, int status)
{
    struct redis_conn *c = redis->data;

    if (!c)
        return;
    loop_touch(c->loop);
    lose(c, "connection lost");
}

static void on_connect(const redisAsyncContext *redis, int status)
{
    struct redis_conn *c = redis->data;
    int on = 1;

    if (!c)
        return;
    loop_touch(c->loop);
    if (status != REDIS_OK) {
        lose(c, "cannot connect");
        return;
    }
    if (redis->c.connection_type == REDIS_CONN_TCP)
        setsockopt(redis->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->events.on_connect(c->events.arg);
}

/* ---- for the owner ---- */

/* NULL when there is no memory for it. */
static redisAsyncContext *begin_connect(const struct redis_address *address)
{
    if (address->port)
        return redisAsyncConnect(address->host, address->port);
    return redisAsyncConnectUnix(address->host);
}

const char *redis_conn_open(struct redis_conn *c, const struct redis_address *address)
{
    redisAsyncContext *redis = begin_connect(address);

    if (!redis)
        abort();
    redis->data = c;
    c->redis = redis;
    if (redis->err)
        return redis->errstr;
    redis_events_attach(redis, c->loop->base);
    redis_replies_attach(c->replies, redis->c.reader);
    redisAsyncSetConnectCallback(redis, on_connect);
    redisAsyncSetDisconnectCallback(redis, on_disconnect);
    return NULL;
}

bool redis_conn_send(struct redis_conn *c, void *call, int argc, const char **argv,
                     const size_t *lens)
{
    buf_clear(&c->command);
    redis_command_write(&c->command, argc, argv, lens);
    /* hiredis looks at one byte behind the first argument: buf_text ends it. */
    return redisAsyncFormattedCommand(c->redis, on_reply, call, buf_text(&c->command),
                                      c->command.len) == REDIS_OK;
}

bool redis_conn_subscribe(struct redis_conn *c, const char *channel)
{
    return redisAsyncCommand(c->redis, on_push, NULL, "SUBSCRIBE %s", channel) == REDIS_OK;
}

bool redis_conn_has_unread(const struct redis_conn *c)
{
    int bytes = 0;

    return ioctl(c->redis->c.fd, FIONREAD, &bytes) == 0 && bytes > 0;
}
