#include "node/store/redis/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#include "node/store/redis/address.h"
#include "node/store/redis/command.h"
#include "node/store/redis/replies.h"

#define READ_BYTES      16384
#define KEPT_BYTES      65536        /* of what was written, for the next commands */
#define REPLY_BYTES_MAX (1024 << 20) /* of one that is not complete; far above any of ours */

void redis_conn_init(struct redis_conn *c, struct loop *loop,
                     const struct redis_conn_events *events)
{
    *c = (struct redis_conn){.loop = loop, .events = *events, .fd = -1, .out = BUF_INIT};
    c->replies = redis_replies_new();
}

void redis_conn_fini(struct redis_conn *c)
{
    assert(!redis_conn_is_open(c));
    buf_fini(&c->out);
    redis_replies_free(c->replies);
}

bool redis_conn_is_open(const struct redis_conn *c)
{
    return c->fd >= 0;
}

/* ---- the end ---- */

static void forget_reader(struct redis_conn *c)
{
    if (c->reader)
        redisReaderFree(c->reader);
    c->reader = NULL;
}

static void forget_written(struct redis_conn *c)
{
    c->written = 0;
    if (c->out.room > KEPT_BYTES)
        buf_fini(&c->out);
    else
        buf_clear(&c->out);
}

void redis_conn_close(struct redis_conn *c)
{
    event_free(c->readable);
    event_free(c->writable);
    event_free(c->end_of_turn);
    close(c->fd);
    c->fd = -1;
    c->is_connected = false;
    forget_written(c);
    if (!c->is_reading)
        forget_reader(c);
}

static void lose(struct redis_conn *c, const char *why)
{
    snprintf(c->why, sizeof(c->why), "%s", why);
    redis_conn_close(c);
    c->events.on_lost(c->events.arg, c->why);
}

/* ---- reading ---- */

/* Each may close it. */
static void take_replies(struct redis_conn *c)
{
    void *reply;

    while (redis_conn_is_open(c) && redisReaderGetReply(c->reader, &reply) == REDIS_OK) {
        if (!reply)
            return;
        c->events.on_reply(c->events.arg, reply);
        c->reader->fn->freeObject(reply);
    }
}

static void take_bytes(struct redis_conn *c, const char *bytes, size_t len)
{
    c->is_reading = true;
    redisReaderFeed(c->reader, bytes, len);
    take_replies(c);
    c->is_reading = false;
    if (!redis_conn_is_open(c))
        forget_reader(c);
    else if (c->reader->err)
        lose(c, c->reader->errstr);
    else if (c->reader->len > REPLY_BYTES_MAX)
        lose(c, "an answer that is too large");
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct redis_conn *c = arg;
    char bytes[READ_BYTES];
    ssize_t len = recv(fd, bytes, sizeof(bytes), 0);

    loop_touch(c->loop);
    c->heard_mono_ms = timers_now(&c->loop->timers);
    if (len > 0)
        take_bytes(c, bytes, (size_t)len);
    else if (len == 0)
        lose(c, "Server closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        lose(c, strerror(errno));
}

/* ---- writing ---- */

/* The server has ended it. Its last answers are still to be read, and the end behind them. */
static void stop_writing(struct redis_conn *c)
{
    c->is_full = true;
    event_del(c->writable);
}

/* Else a Redis that always has something left to read makes it grow for ever. Less is moved
 * than was written since the last time. */
static void forget_some(struct redis_conn *c)
{
    if (c->written <= c->out.len / 2)
        return;
    buf_drop(&c->out, c->written);
    c->written = 0;
}

static void flush(struct redis_conn *c)
{
    ssize_t len = send(c->fd, c->out.at + c->written, c->out.len - c->written, MSG_NOSIGNAL);

    if (len < 0 && (errno == EPIPE || errno == ECONNRESET)) {
        stop_writing(c);
        return;
    }
    if (len < 0 && errno != EAGAIN && errno != EINTR) {
        lose(c, strerror(errno));
        return;
    }
    c->written += len > 0 ? (size_t)len : 0;
    c->is_full = c->written < c->out.len;
    if (c->is_full) {
        forget_some(c);
        event_add(c->writable, NULL);
    } else {
        event_del(c->writable);
        forget_written(c);
    }
}

static void on_end_of_turn(evutil_socket_t fd, short what, void *arg)
{
    struct redis_conn *c = arg;

    if (c->written < c->out.len && !c->is_full)
        flush(c);
}

void redis_conn_send(struct redis_conn *c, int argc, const char *const *argv,
                     const size_t *lens)
{
    redis_command_write(&c->out, argc, argv, lens);
    if (!c->is_full)
        event_active(c->end_of_turn, EV_TIMEOUT, 0);
}

/* ---- opening ---- */

static void take_connection(struct redis_conn *c)
{
    int error = 0, on = 1;
    socklen_t len = sizeof(error);

    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        lose(c, strerror(error));
        return;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* a path has no such thing */
    c->is_connected = true;
    c->heard_mono_ms = timers_now(&c->loop->timers);
    event_del(c->writable);
    event_add(c->readable, NULL);
    c->events.on_connect(c->events.arg);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct redis_conn *c = arg;

    loop_touch(c->loop);
    if (c->is_connected)
        flush(c);
    else
        take_connection(c);
}

union any_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

/* How long it is; 0: it is none. */
static socklen_t read_address(const struct redis_address *from, union any_address *to)
{
    memset(to, 0, sizeof(*to));
    if (from->port == 0) {
        if (strlen(from->host) >= sizeof(to->un.sun_path))
            return 0;
        to->un.sun_family = AF_UNIX;
        memcpy(to->un.sun_path, from->host, strlen(from->host));
        return sizeof(to->un);
    }
    if (inet_pton(AF_INET, from->host, &to->in.sin_addr) == 1) {
        to->in.sin_family = AF_INET;
        to->in.sin_port = htons((uint16_t)from->port);
        return sizeof(to->in);
    }
    to->in6.sin6_family = AF_INET6;
    to->in6.sin6_port = htons((uint16_t)from->port);
    return inet_pton(AF_INET6, from->host, &to->in6.sin6_addr) == 1 ? sizeof(to->in6) : 0;
}

/* The socket; -1: errno says why not. */
static int begin_connect(const struct redis_address *address)
{
    union any_address to;
    socklen_t len = read_address(address, &to);
    int fd, error;

    if (len == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, &to.any, len) == 0 || errno == EINPROGRESS)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void make_events(struct redis_conn *c)
{
    struct event_base *base = c->loop->base;

    c->readable = event_new(base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    c->writable = event_new(base, c->fd, EV_WRITE | EV_PERSIST, on_writable, c);
    c->end_of_turn = evtimer_new(base, on_end_of_turn, c);
    c->reader = redisReaderCreate();
    if (!c->readable || !c->writable || !c->end_of_turn || !c->reader)
        abort();
    redis_replies_attach(c->replies, c->reader);
    event_add(c->writable, NULL);
}

const char *redis_conn_open(struct redis_conn *c, const struct redis_address *address)
{
    assert(!redis_conn_is_open(c) && !c->reader);
    c->fd = begin_connect(address);
    c->is_full = false;
    if (c->fd < 0) {
        snprintf(c->why, sizeof(c->why), "%s", strerror(errno));
        return c->why;
    }
    make_events(c);
    return NULL;
}

bool redis_conn_has_unread(const struct redis_conn *c)
{
    int bytes = 0;

    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}
