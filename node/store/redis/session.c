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

static void on_reply(void *arg, void *of_call, const redisReply *reply)
{
    struct redis_session *s = arg;
    struct redis_call *call = redis_flight_take(&s->flight);

    assert(call == of_call);
    call->on_reply(call, reply);
}

static void on_subscribed(void *arg)
{
    struct redis_session *s = arg;

    s->events.on_subscribed(s->events.arg);
}

static void on_message(void *arg, struct bytes payload)
{
    struct redis_session *s = arg;

    s->events.on_message(s->events.arg, payload);
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
    timer_arm(&s->loop->timers, &s->timer, s->timeout_ms);
    if (s->password && *s->password)
        authenticate(s);
    else
        s->events.on_open(s->events.arg);
}

void redis_session_connect(struct redis_session *s, const struct redis_address *address)
{
    const char *why = redis_conn_open(&s->conn, address);

    s->is_connected = s->is_subscribed = s->is_late = false;
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

/* What may have to be closed is looked at when that may be so, not with every call. */
static void watch(struct redis_session *s)
{
    int64_t left_ms = s->timeout_ms;

    timer_arm(&s->loop->timers, &s->timer, left_ms);
    if (redis_flight_is_empty(&s->flight)) {
        if (!s->is_subscribed)
            prove_alive(s);
        return;
    }
    left_ms = redis_flight_left_ms(&s->flight, timers_now(&s->loop->timers));
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

    if (s->is_connected)
        watch(s);
    else
        give_up(s, "cannot connect in time");
}

/* ---- for the owner ---- */

void redis_session_init(struct redis_session *s, struct loop *loop, const char *password,
                        int64_t timeout_ms, const struct redis_session_events *events)
{
    struct redis_conn_events conn = {.on_connect = on_connect,
                                     .on_reply = on_reply,
                                     .on_subscribed = on_subscribed,
                                     .on_message = on_message,
                                     .on_lost = on_lost,
                                     .arg = s};

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
    if (!redis_conn_send(&s->conn, call, argc, argv, lens))
        give_up(s, "cannot send");
}

void redis_session_subscribe(struct redis_session *s, const char *channel)
{
    assert(redis_flight_is_empty(&s->flight));
    s->is_subscribed = true;
    if (!redis_conn_subscribe(&s->conn, channel))
        give_up(s, "cannot subscribe");
}
