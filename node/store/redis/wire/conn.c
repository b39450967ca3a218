#include "node/store/redis/wire/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/scripts.h"
#include "node/store/redis/wire/error.h"
#include "node/store/redis/wire/reply.h"

static struct redis_call *call_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_call, link);
}

void redis_flight_init(struct redis_flight *f, int64_t timeout_ms)
{
    list_init(&f->calls);
    f->timeout_ms = timeout_ms;
}

bool redis_flight_is_empty(const struct redis_flight *f)
{
    return list_is_empty(&f->calls);
}

void redis_flight_add(struct redis_flight *f, struct redis_call *call, int64_t now_mono_ms)
{
    call->sent_mono_ms = now_mono_ms;
    call->deadline_mono_ms = now_mono_ms + f->timeout_ms;
    call->is_late = false;
    list_append(&f->calls, &call->link);
}

struct redis_call *redis_flight_take(struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return call_of(list_pop(&f->calls));
}

/* When the oldest call was sent. Only while one is in flight. */
static int64_t redis_flight_since(const struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return CONTAINER_OF(f->calls.next, struct redis_call, link)->sent_mono_ms;
}

int64_t redis_flight_left_ms(struct redis_flight *f, int64_t now_mono_ms)
{
    struct redis_call *oldest;

    assert(!redis_flight_is_empty(f));
    oldest = call_of(list_first(&f->calls));
    if (oldest->deadline_mono_ms <= now_mono_ms && !oldest->is_late) {
        oldest->is_late = true;
        oldest->deadline_mono_ms = now_mono_ms + f->timeout_ms / 4;
    }
    return oldest->deadline_mono_ms - now_mono_ms;
}

void redis_flight_fail(struct redis_flight *f)
{
    struct list lost, *link;

    list_init(&lost);
    list_append_all(&lost, &f->calls);
    while ((link = list_pop(&lost)))
        call_of(link)->on_reply(call_of(link), NULL);
}

/* ---- conn ---- */

#define READ_BYTES      16384
#define KEPT_BYTES      65536        /* of what was written, for the next commands */
#define REPLY_BYTES_MAX (1024 << 20) /* of an incomplete reply; far above any of ours */

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

/* Each reply's callback may close the connection. */
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

static void take_input(struct redis_conn *c, const char *bytes, size_t len)
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
        take_input(c, bytes, (size_t)len);
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

/* Drops written bytes: else the buffer grows for ever at a Redis that always has some left to
 * read. Fewer bytes are moved than were written since the last time. */
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

/* Returns the length of the address; 0: it is none. */
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

/* Is there something that only waits to be read? */
static bool redis_conn_has_unread(const struct redis_conn *c)
{
    int bytes = 0;

    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* ---- session: the end ---- */

void redis_session_close(struct redis_session *s)
{
    timer_disarm(&s->loop->timers, &s->timer);
    if (redis_conn_is_open(&s->conn))
        redis_conn_close(&s->conn);
}

static void give_up(struct redis_session *s, const char *why)
{
    void (*on_lost)(void *arg, const char *text) = s->events.on_lost;

    /* Before it is closed: the text may be the connection's own. */
    on_lost(s->events.arg, why);
    redis_session_close(s);
}

static void on_lost(void *arg, const char *why)
{
    struct redis_session *s = arg;

    timer_disarm(&s->loop->timers, &s->timer);
    s->events.on_lost(s->events.arg, why);
}

void redis_session_fail(struct redis_session *s)
{
    redis_flight_fail(&s->flight);
}

/* ---- session: what Redis says ---- */

/* "subscribe", channel, count, once; then "message", channel, payload. False: neither. */
static bool take_push(struct redis_session *s, const redisReply *reply)
{
    bool was_subscribed = s->is_subscribed;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    if (!was_subscribed && !strcmp(reply->element[0]->str, "subscribe")) {
        s->is_subscribed = true;
        s->events.on_subscribed(s->events.arg);
        return true;
    }
    if (!was_subscribed || strcmp(reply->element[0]->str, "message") != 0 ||
        reply->element[2]->type != REDIS_REPLY_STRING)
        return false;
    s->events.on_message(s->events.arg,
                         bytes_of(reply->element[2]->str, reply->element[2]->len));
    return true;
}

/* An answer nobody has asked for, or no message where messages come, shows that the two sides
 * are out of step: no later answer can be believed. */
static void on_reply(void *arg, const redisReply *reply)
{
    struct redis_session *s = arg;
    struct redis_call *call;

    if (s->is_silent) {
        s->is_silent = false;
        s->events.on_silence(s->events.arg, false);
    }

    if (s->is_listening) {
        if (!take_push(s, reply))
            give_up(s, reply->type == REDIS_REPLY_ERROR ? reply->str : "it sends no messages");
        return;
    }
    if (redis_flight_is_empty(&s->flight)) {
        give_up(s, reply->type == REDIS_REPLY_ERROR ? reply->str
                                                    : "it sends answers that nobody asked for");
        return;
    }
    call = redis_flight_take(&s->flight);
    call->on_reply(call, reply);
}

/* ---- session: opening ---- */

static void on_auth(struct redis_call *call, const redisReply *reply)
{
    struct redis_session *s = CONTAINER_OF(call, struct redis_session, auth);

    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_ERROR) {
        s->events.on_open(s->events.arg);
        return;
    }
    give_up(s, reply->str);
    if (redis_error_is_lasting(reply->str))
        s->events.on_refused(s->events.arg, reply->str);
}

static void authenticate(struct redis_session *s)
{
    const char *argv[] = {"AUTH", s->password};
    size_t lens[] = {4, strlen(s->password)};

    s->auth.on_reply = on_auth;
    redis_session_send(s, &s->auth, 2, argv, lens);
}

static void on_connect(void *arg)
{
    struct redis_session *s = arg;

    s->is_connected = true;
    timer_arm(&s->loop->timers, &s->timer,
              s->events.silence_ms ? s->events.silence_ms / 2 : s->timeout_ms);
    if (s->password && *s->password)
        authenticate(s);
    else
        s->events.on_open(s->events.arg);
}

void redis_session_connect(struct redis_session *s, const struct redis_address *address)
{
    const char *why = redis_conn_open(&s->conn, address);

    s->is_connected = s->is_listening = s->is_subscribed = s->is_silent = s->is_late = false;
    if (why)
        give_up(s, why);
    else
        timer_arm(&s->loop->timers, &s->timer, s->timeout_ms);
}

/* ---- session: the watch ---- */

static void on_pong(struct redis_call *call, const redisReply *reply)
{
}

static void prove_alive(struct redis_session *s)
{
    const char *argv[] = {"PING"};
    size_t lens[] = {4};

    s->ping.on_reply = on_pong;
    redis_session_send(s, &s->ping, 1, argv, lens);
}

/* How long Redis may still be silent before the caller tells; with nothing in flight, how long
 * until a PING. */
static int64_t look_at_silence(struct redis_session *s, int64_t now_mono_ms)
{
    int64_t since_mono_ms, left_ms;

    if (!s->events.silence_ms || s->is_silent || s->is_listening)
        return s->timeout_ms;
    if (redis_flight_is_empty(&s->flight))
        return s->events.silence_ms / 2;
    since_mono_ms = redis_flight_since(&s->flight);
    if (since_mono_ms < s->conn.heard_mono_ms)
        since_mono_ms = s->conn.heard_mono_ms;
    left_ms = since_mono_ms + s->events.silence_ms - now_mono_ms;
    if (left_ms > 0)
        return left_ms;
    s->is_silent = !redis_conn_has_unread(&s->conn);
    return s->events.silence_ms / 2;
}

/* One timer for the next time at which something may be overdue, not one for each call. */
static void watch(struct redis_session *s)
{
    int64_t now_mono_ms = timers_now(&s->loop->timers);
    int64_t silence_ms = look_at_silence(s, now_mono_ms), left_ms = s->timeout_ms;

    timer_arm(&s->loop->timers, &s->timer, silence_ms < left_ms ? silence_ms : left_ms);
    if (redis_flight_is_empty(&s->flight)) {
        if (!s->is_listening)
            prove_alive(s);
        return;
    }
    left_ms = redis_flight_left_ms(&s->flight, now_mono_ms);
    if (left_ms > silence_ms) {
        timer_arm(&s->loop->timers, &s->timer, silence_ms);
        return;
    }
    /* After a stall of our own the answers are there and only wait to be read. */
    s->is_late = left_ms <= 0 && !redis_conn_has_unread(&s->conn);
    if (s->is_late)
        give_up(s, "no answer in time");
    else
        timer_arm(&s->loop->timers, &s->timer, left_ms > 0 ? left_ms : 1);
}

static void on_timer(struct timer *timer)
{
    struct redis_session *s = CONTAINER_OF(timer, struct redis_session, timer);
    bool was_silent = s->is_silent;

    if (s->is_connected)
        watch(s);
    else
        give_up(s, "cannot connect in time");
    if (redis_conn_is_open(&s->conn) && s->is_silent && !was_silent)
        s->events.on_silence(s->events.arg, true);
}

/* ---- session: for the owner ---- */

void redis_session_init(struct redis_session *s, struct loop *loop, const char *password,
                        int64_t timeout_ms, const struct redis_session_events *events)
{
    struct redis_conn_events conn = {
        .on_connect = on_connect, .on_reply = on_reply, .on_lost = on_lost, .arg = s};

    *s = (struct redis_session){
        .events = *events, .loop = loop, .password = password, .timeout_ms = timeout_ms};
    redis_conn_init(&s->conn, loop, &conn);
    redis_flight_init(&s->flight, timeout_ms);
    timer_init(&s->timer, on_timer);
}

void redis_session_fini(struct redis_session *s)
{
    redis_conn_fini(&s->conn);
}

void redis_session_send(struct redis_session *s, struct redis_call *call, int argc,
                        const char **argv, const size_t *lens)
{
    redis_flight_add(&s->flight, call, timers_now(&s->loop->timers));
    redis_conn_send(&s->conn, argc, argv, lens);
}

void redis_session_subscribe(struct redis_session *s, const char *channel)
{
    const char *argv[] = {"SUBSCRIBE", channel};
    size_t lens[] = {9, strlen(channel)};

    assert(redis_flight_is_empty(&s->flight));
    s->is_listening = true;
    redis_conn_send(&s->conn, 2, argv, lens);
}
