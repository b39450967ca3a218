#include "node/store/redis/wire/conn.h"

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
#include <unistd.h>

#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/error.h"
#include "node/store/redis/wire/reply.h"
#include "node/store/redis/wire/tls.h"

/* ---- its end ---- */

#define READ_BYTES 16384
#define KEPT_BYTES 65536 /* of what was written, for the next commands */

bool redis_conn_is_open(const struct redis_conn *c)
{
    return c->fd >= 0;
}

static void forget_input(struct redis_conn *c)
{
    if (c->reader)
        redisReaderFree(c->reader);
    c->reader = NULL;
    redis_tls_session_free(c->session);
    c->session = NULL;
}

static void forget(struct buf *written)
{
    if (written->room > KEPT_BYTES)
        buf_fini(written);
    else
        buf_clear(written);
}

static void forget_written(struct redis_conn *c)
{
    c->written = 0;
    forget(&c->out);
}

void redis_conn_close(struct redis_conn *c)
{
    timer_disarm(&c->loop->timers, &c->timer);
    if (!redis_conn_is_open(c))
        return;
    event_free(c->readable);
    event_free(c->writable);
    turn_end_cancel(&c->end_of_turn);
    close(c->fd);
    c->fd = -1;
    c->is_connected = false;
    forget_written(c);
    forget(&c->said);
    c->said_first = c->read_next = NULL;
    if (!c->is_reading)
        forget_input(c);
}

static void lose(struct redis_conn *c, const char *why)
{
    /* Before it is closed: the text may be the connection's own. */
    c->events.on_lost(c->events.arg, why);
    redis_conn_close(c);
}

/* The text may be the connection's own here, too. */
static void refuse(struct redis_conn *c, const char *text)
{
    char why[REDIS_ERROR_CHARS];

    snprintf(why, sizeof(why), "%s", text);
    lose(c, why);
    if (redis_error_is_lasting(why))
        c->events.on_refused(c->events.arg, why);
}

void redis_conn_fail(struct redis_conn *c)
{
    redis_flight_fail(&c->flight);
}

/* ---- reading ---- */

/* "subscribe", channel, count, once; then "message", channel, payload. False: neither. */
static bool take_push(struct redis_conn *c, const redisReply *reply)
{
    bool was_subscribed = c->is_subscribed;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    if (!was_subscribed && !strcmp(reply->element[0]->str, "subscribe")) {
        c->is_subscribed = true;
        c->events.on_subscribed(c->events.arg);
        return true;
    }
    if (!was_subscribed || strcmp(reply->element[0]->str, "message") != 0 ||
        reply->element[2]->type != REDIS_REPLY_STRING)
        return false;
    c->events.on_message(c->events.arg,
                         bytes_of(reply->element[2]->str, reply->element[2]->len));
    return true;
}

/* Redis reads what was written last: what has been said since can be written. */
static void write_more(struct redis_conn *c)
{
    c->read_next = NULL;
    if (c->said.len > 0)
        turn_end_ask(&c->end_of_turn, c->loop);
}

/* An answer nobody has asked for, or no message where messages come, shows that the two sides
 * are out of step: no later answer can be believed. */
static void take_reply(struct redis_conn *c, const redisReply *reply)
{
    struct redis_call *call;

    if (c->is_silent) {
        c->is_silent = false;
        c->events.on_silence(c->events.arg, false);
    }

    if (c->is_listening) {
        if (!take_push(c, reply))
            lose(c, reply->type == REDIS_REPLY_ERROR ? reply->str : "it sends no messages");
        return;
    }
    if (redis_flight_is_empty(&c->flight)) {
        lose(c, reply->type == REDIS_REPLY_ERROR ? reply->str
                                                 : "it sends answers that nobody asked for");
        return;
    }
    call = redis_flight_take(&c->flight);
    if (call == c->read_next)
        write_more(c);
    call->on_reply(call, reply);
}

/* Each reply's callback may close the connection. */
static void take_replies(struct redis_conn *c)
{
    void *reply;

    while (redis_conn_is_open(c) && redisReaderGetReply(c->reader, &reply) == REDIS_OK) {
        if (!reply)
            return;
        take_reply(c, reply);
        redis_replies_forget(c->replies);
    }
}

static bool is_shaking(const struct redis_conn *c)
{
    return c->session && redis_tls_state(c->session) == REDIS_TLS_SHAKING;
}

static void take_said(struct redis_conn *c, struct bytes said)
{
    const char *excess;

    redisReaderFeed(c->reader, said.at, said.len);
    take_replies(c);
    if (!redis_conn_is_open(c))
        return;
    excess = redis_replies_excess(c->replies, c->reader);
    if (excess)
        lose(c, excess);
    else if (c->reader->err && c->may_want_tls && redis_tls_is_alert(said))
        refuse(c, REDIS_TLS_LASTING "it wants TLS: let store.redis begin with rediss");
    else if (c->reader->err)
        lose(c, c->reader->errstr);
    c->may_want_tls = false;
}

static void begin(struct redis_conn *c);
static void flush(struct redis_conn *c);

/* The last words of the handshake may be left to be written, or an alert. */
static void take_encrypted(struct redis_conn *c, struct bytes wire)
{
    bool was_shaking = is_shaking(c);
    char said[READ_BYTES];
    size_t len;

    if (redis_tls_take(c->session, wire) == REDIS_TLS_OPEN && was_shaking) {
        c->has_agreed = true;
        begin(c);
    }
    while (redis_conn_is_open(c) && (len = redis_tls_read(c->session, said, sizeof(said))) > 0)
        take_said(c, bytes_of(said, len));
    if (redis_conn_is_open(c) && c->written < c->out.len && !c->is_full)
        flush(c);
    if (redis_conn_is_open(c) && redis_tls_state(c->session) == REDIS_TLS_ENDED)
        refuse(c, redis_tls_why(c->session));
}

static void take_input(struct redis_conn *c, struct bytes wire)
{
    c->is_reading = true;
    if (c->session)
        take_encrypted(c, wire);
    else
        take_said(c, wire);
    c->is_reading = false;
    if (!redis_conn_is_open(c))
        forget_input(c);
}

/* A Redis that hears plain commands at a port for TLS ends the connection without a word. */
static void lose_at_its_end(struct redis_conn *c, const char *how)
{
    char why[REDIS_ERROR_CHARS];

    if (is_shaking(c))
        snprintf(why, sizeof(why), "%s instead of TLS's handshake", how);
    else
        snprintf(why, sizeof(why), "%s%s", how,
                 c->may_want_tls ? ", without a word; does it want TLS (rediss://)?" : "");
    lose(c, why);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct redis_conn *c = arg;
    char bytes[READ_BYTES];
    ssize_t len = recv(fd, bytes, sizeof(bytes), 0);

    loop_touch(c->loop);
    c->heard_mono_ms = timers_now(&c->loop->timers);
    if (len > 0)
        take_input(c, bytes_of(bytes, (size_t)len));
    else if (len == 0)
        lose_at_its_end(c, "Server closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        lose_at_its_end(c, strerror(errno));
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

/* All that has been said, in as few records as it takes. */
static void encrypt(struct redis_conn *c)
{
    if (!c->session || c->said.len == 0 || redis_tls_state(c->session) != REDIS_TLS_OPEN ||
        c->read_next)
        return;
    redis_tls_write(c->session, buf_bytes(&c->said));
    forget(&c->said);
    c->read_next = c->said_first;
    c->said_first = NULL;
    if (redis_tls_state(c->session) == REDIS_TLS_ENDED)
        refuse(c, redis_tls_why(c->session));
}

static void on_end_of_turn(struct turn_end *end)
{
    struct redis_conn *c = CONTAINER_OF(end, struct redis_conn, end_of_turn);

    encrypt(c);
    if (redis_conn_is_open(c) && c->written < c->out.len && !c->is_full)
        flush(c);
}

static void send_command(struct redis_conn *c, int argc, const char *const *argv,
                         const size_t *lens)
{
    redis_command_write(c->session ? &c->said : &c->out, argc, argv, lens);
    if (!c->is_full || c->session)
        turn_end_ask(&c->end_of_turn, c->loop);
}

void redis_conn_send(struct redis_conn *c, struct redis_call *call, int argc,
                     const char *const *argv, const size_t *lens)
{
    redis_flight_add(&c->flight, call, timers_now(&c->loop->timers));
    if (c->session && !c->said_first)
        c->said_first = call;
    send_command(c, argc, argv, lens);
}

void redis_conn_subscribe(struct redis_conn *c, const char *channel)
{
    const char *argv[] = {"SUBSCRIBE", channel};
    size_t lens[] = {9, strlen(channel)};

    assert(redis_flight_is_empty(&c->flight));
    c->is_listening = true;
    send_command(c, 2, argv, lens);
}

/* ---- opening ---- */

static void on_auth(struct redis_call *call, const redisReply *reply)
{
    struct redis_conn *c = CONTAINER_OF(call, struct redis_conn, auth);

    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        refuse(c, reply->str);
    else
        c->events.on_open(c->events.arg);
}

static void authenticate(struct redis_conn *c)
{
    const char *user = c->login.user, *password = c->login.password;
    bool has_user = user && *user;
    const char *argv[] = {"AUTH", has_user ? user : password, password};
    size_t lens[] = {4, strlen(argv[1]), strlen(password)};

    c->auth.on_reply = on_auth;
    redis_conn_send(c, &c->auth, has_user ? 3 : 2, argv, lens);
}

static void begin(struct redis_conn *c)
{
    timer_arm(&c->loop->timers, &c->timer,
              c->events.silence_ms ? c->events.silence_ms / 2 : c->timeout_ms);
    if (c->login.password && *c->login.password)
        authenticate(c);
    else
        c->events.on_open(c->events.arg);
}

static void begin_tls(struct redis_conn *c)
{
    c->session = redis_tls_session_new(c->login.tls, c->host, &c->out);
    if (is_shaking(c))
        flush(c);
    else
        refuse(c, redis_tls_why(c->session));
}

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
    if (c->login.tls)
        begin_tls(c);
    else
        begin(c);
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

static void make_events(struct redis_conn *c)
{
    struct event_base *base = c->loop->base;

    c->readable = must(event_new(base, c->fd, EV_READ | EV_PERSIST, on_readable, c));
    c->writable = must(event_new(base, c->fd, EV_WRITE | EV_PERSIST, on_writable, c));
    turn_end_init(&c->end_of_turn, TURN_WRITE, on_end_of_turn);
    c->reader = must(redisReaderCreate());
    redis_replies_attach(c->replies, c->reader);
    event_add(c->writable, NULL);
}

void redis_conn_open(struct redis_conn *c, const struct redis_address *address,
                     const char *host)
{
    assert(!redis_conn_is_open(c) && !c->reader);
    c->host = host;
    c->has_agreed = c->has_agreed && redis_address_equal(&c->address, address);
    c->address = *address;
    c->is_connected = c->is_listening = c->is_subscribed = c->is_silent = c->is_late = false;
    c->is_full = false;
    c->may_want_tls = !c->login.tls && address->port != 0;
    c->fd = redis_address_connect(address);
    if (c->fd < 0) {
        lose(c, strerror(errno));
        return;
    }
    make_events(c);
    timer_arm(&c->loop->timers, &c->timer, c->timeout_ms);
}

/* ---- the watch ---- */

/* Is there something that only waits to be read? */
static bool has_unread(const struct redis_conn *c)
{
    int bytes = 0;

    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

static void on_pong(struct redis_call *call, const redisReply *reply)
{
}

static void prove_alive(struct redis_conn *c)
{
    const char *argv[] = {"PING"};
    size_t lens[] = {4};

    c->ping.on_reply = on_pong;
    redis_conn_send(c, &c->ping, 1, argv, lens);
}

/* How long Redis may still be silent before the caller tells; with nothing in flight, how long
 * until a PING. */
static int64_t look_at_silence(struct redis_conn *c, int64_t now_mono_ms)
{
    int64_t since_mono_ms, left_ms;

    if (!c->events.silence_ms || c->is_silent || c->is_listening)
        return c->timeout_ms;
    if (redis_flight_is_empty(&c->flight))
        return c->events.silence_ms / 2;
    since_mono_ms = redis_flight_since(&c->flight);
    if (since_mono_ms < c->heard_mono_ms)
        since_mono_ms = c->heard_mono_ms;
    left_ms = since_mono_ms + c->events.silence_ms - now_mono_ms;
    if (left_ms > 0)
        return left_ms;
    c->is_silent = !has_unread(c);
    return c->events.silence_ms / 2;
}

/* One timer for the next time at which something may be overdue, not one for each call. */
static void watch(struct redis_conn *c)
{
    int64_t now_mono_ms = timers_now(&c->loop->timers);
    int64_t silence_ms = look_at_silence(c, now_mono_ms), left_ms = c->timeout_ms;

    timer_arm(&c->loop->timers, &c->timer, silence_ms < left_ms ? silence_ms : left_ms);
    if (redis_flight_is_empty(&c->flight)) {
        if (!c->is_listening)
            prove_alive(c);
        return;
    }
    left_ms = redis_flight_left_ms(&c->flight, now_mono_ms);
    if (left_ms > silence_ms) {
        timer_arm(&c->loop->timers, &c->timer, silence_ms);
        return;
    }
    /* After a stall of our own the answers are there and only wait to be read. */
    c->is_late = left_ms <= 0 && !has_unread(c);
    if (c->is_late)
        lose(c, "no answer in time");
    else
        timer_arm(&c->loop->timers, &c->timer, left_ms > 0 ? left_ms : 1);
}

/* A Redis that is frozen is silent here, too, where an unencrypted connection would be open. */
static void watch_handshake(struct redis_conn *c)
{
    c->is_late = !has_unread(c);
    if (!c->is_late)
        timer_arm(&c->loop->timers, &c->timer, 1);
    else
        lose(c, c->has_agreed ? "no TLS handshake in time"
                              : "no TLS handshake in time; does Redis speak TLS at this port "
                                "(tls-port)?");
}

static void on_timer(struct timer *timer)
{
    struct redis_conn *c = CONTAINER_OF(timer, struct redis_conn, timer);
    bool was_silent = c->is_silent;

    if (!c->is_connected)
        lose(c, "cannot connect in time");
    else if (is_shaking(c))
        watch_handshake(c);
    else
        watch(c);
    if (redis_conn_is_open(c) && c->is_silent && !was_silent)
        c->events.on_silence(c->events.arg, true);
}

/* ---- for the owner ---- */

void redis_conn_init(struct redis_conn *c, struct loop *loop, const struct redis_login *login,
                     int64_t timeout_ms, const struct redis_conn_events *events)
{
    *c = (struct redis_conn){.events = *events,
                             .loop = loop,
                             .login = *login,
                             .timeout_ms = timeout_ms,
                             .fd = -1,
                             .said = BUF_INIT,
                             .out = BUF_INIT,
                             .replies = redis_replies_new()};
    redis_flight_init(&c->flight, timeout_ms);
    timer_init(&c->timer, on_timer);
}

void redis_conn_fini(struct redis_conn *c)
{
    assert(!redis_conn_is_open(c));
    buf_fini(&c->said);
    buf_fini(&c->out);
    redis_replies_free(c->replies);
}
