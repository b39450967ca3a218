#include "node/store/redis/session.h"

#include <assert.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/error.h"

/* ---- the end ---- */

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

/* ---- what Redis says ---- */

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

/* What nobody has asked for, or what is no message where messages come, shows that both sides
 * mean different things: whatever comes after it cannot be believed. */
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

/* ---- opening ---- */

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

/* ---- the watch ---- */

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

/* How long it may still be silent before that is told, which the caller does; with nothing in
 * flight, until it is asked for a sign of life. */
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

/* What may have to be closed is looked at when that may be so, not with every call. */
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

/* ---- for the owner ---- */

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
