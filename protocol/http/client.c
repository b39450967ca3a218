/* A connection, one request after the other.
 *
 *   IN_HEAD --> IN_BODY --> IN_WORK --> IN_HEAD
 *                                  \--> HELD -----> IN_HEAD
 *                                  \--> LEAVING --> LAST_REPLY    then it ends
 *                                  \--------------> LAST_REPLY
 *
 *   IN_WORK     the handler has it; nothing more is read
 *   HELD        its client has to read the reply first, or others are to have their turn
 *   LEAVING     answered before its body was there, or without knowing where it ends: what
 *               still comes is thrown away for a while, because a close that meets unread
 *               bytes becomes a reset, which may overtake the reply. It sees the end at once
 *   LAST_REPLY  nothing more is taken; the connection ends when the reply is read
 *
 * The timer bounds each of them but IN_WORK: a whole request has a time to arrive (an idle
 * connection is connection.c's), a reply has one to be read, however slowly. When the node
 * stops that one is short, but it begins with the reply: what is in work is waited for.
 */
#include "base/log.h"
#include "protocol/http/exchange.h"
#include "protocol/http/server.h"

#define EXCESS_MS         1000 /* a client over a limit has to say what it wants */
#define LEAVING_MS        1000
#define STOPPING_MS       2000 /* for a reply to be read, when the node stops */
#define REQUESTS_PER_TURN 16

static struct http_client *client_of(const struct connection *c)
{
    return CONTAINER_OF(c, struct http_client, base.connection);
}

static void arm_timer(struct http_client *client, int64_t delay_ms)
{
    timer_arm(&client->http->port.loop->timers, &client->timer, delay_ms);
}

static void disarm_timer(struct http_client *client)
{
    timer_disarm(&client->http->port.loop->timers, &client->timer);
}

static bool has_unread_reply(const struct http_client *client)
{
    return stream_len(&client->base.connection.output) > 0;
}

/* ---- input, by phase: each says how much of it was used ---- */

static size_t take_nothing(struct http_client *client, struct bytes input)
{
    return 0;
}

static size_t take_all(struct http_client *client, struct bytes input)
{
    return input.len;
}

/* ---- between requests ---- */

/* How long the client has to read a reply. */
static int64_t reading_ms(const struct http *h)
{
    int64_t ms = h->options.request_ms;

    return h->port.is_closing && ms > STOPPING_MS ? STOPPING_MS : ms;
}

static void await_last_reply(struct http_client *client, const char *reason)
{
    client->phase = HTTP_LAST_REPLY;
    connection_wind_up(&client->base.connection, reason);
    if (client->base.connection.state != CONNECTION_CLOSED)
        arm_timer(client, reading_ms(client->http));
}

static void hold(struct http_client *client, int64_t delay_ms)
{
    client->phase = HTTP_HELD;
    arm_timer(client, delay_ms);
    connection_begin(&client->base.connection);
}

static void unhold(struct http_client *client)
{
    client->phase = HTTP_IN_HEAD;
    disarm_timer(client);
    if (client->http->port.is_closing)
        await_last_reply(client, "the node is stopping");
    connection_done(&client->base.connection);
}

void http_client_answered(struct http_client *client, bool is_kept, bool has_read_all)
{
    if (client->base.connection.state == CONNECTION_CLOSED)
        return;
    if (!has_read_all) {
        client->phase = HTTP_LEAVING;
        arm_timer(client, LEAVING_MS);
        connection_end_output(&client->base.connection);
    } else if (!is_kept || client->base.connection.state == CONNECTION_ENDING) {
        await_last_reply(client, "it was the last request");
    } else if (has_unread_reply(client)) {
        hold(client, reading_ms(client->http));
    }
}

/* Decides what comes after this turn. `rest_bytes` of the input are not used yet. */
static void look_ahead(struct http_client *client, size_t rest_bytes)
{
    bool is_idle = client->phase == HTTP_IN_HEAD && rest_bytes == 0;

    if (is_idle && !client->excess)
        disarm_timer(client); /* it was an empty line, in two parts */
    else if (client->phase == HTTP_IN_HEAD && rest_bytes && client->seen == 0)
        hold(client, 0);
    else if (!is_idle && client->phase <= HTTP_IN_BODY && !timer_is_armed(&client->timer))
        arm_timer(client, client->http->options.request_ms);
}

size_t http_client_take(struct connection *c, struct bytes input)
{
    static size_t (*const takers[])(struct http_client * client, struct bytes input) = {
        [HTTP_IN_HEAD] = http_take_head, [HTTP_IN_BODY] = http_take_body,
        [HTTP_IN_WORK] = take_nothing,   [HTTP_HELD] = take_nothing,
        [HTTP_LEAVING] = take_all,       [HTTP_LAST_REPLY] = take_nothing,
    };
    struct http_client *client = client_of(c);
    uint64_t enough = client->http->port.stats.requests + REQUESTS_PER_TURN;
    size_t used = 0, n;

    do {
        n = takers[client->phase](client, bytes_of(input.at + used, input.len - used));
        used += n;
    } while (n && used < input.len && c->state == CONNECTION_OPEN &&
             client->http->port.stats.requests < enough);
    if (c->state == CONNECTION_OPEN)
        look_ahead(client, input.len - used);
    return used;
}

/* ---- the connection ---- */

void http_client_cancel_waits(struct http_client *client)
{
    struct exchange *x = client->is_waiting ? &client->request->exchange : NULL;
    void (*on_cancel_wait)(struct exchange * x) = x ? x->on_cancel_wait : NULL;

    if (!on_cancel_wait)
        return;
    x->on_cancel_wait = NULL;
    on_cancel_wait(x);
}

static void tell_gone(struct http_client *client)
{
    struct exchange *x = &client->request->exchange;

    if (x->on_gone)
        x->on_gone(x);
    else
        http_client_cancel_waits(client);
}

/* The rest of what is being read and one more head, at which the reading may stop. */
size_t http_client_read_max(const struct connection *c)
{
    const struct http_client *client = client_of(c);

    if (client->phase == HTTP_LEAVING)
        return SIZE_MAX;
    if (client->phase == HTTP_IN_BODY)
        return (size_t)client->request->body.left + HEAD_MAX_BYTES;
    return HEAD_MAX_BYTES;
}

bool http_client_is_busy(const struct connection *c)
{
    return timer_is_armed(&client_of(c)->timer);
}

void http_client_end(struct connection *c)
{
    http_client_cancel_waits(client_of(c));
}

void http_client_acked(struct connection *c)
{
    unacked_settle(&client_of(c)->base.unacked);
}

void http_client_written(struct connection *c)
{
    struct http_client *client = client_of(c);

    if (client->phase == HTTP_HELD && !has_unread_reply(client))
        unhold(client);
}

void http_client_closed(struct connection *c)
{
    struct http_client *client = client_of(c);

    disarm_timer(client);
    unacked_settle(&client->base.unacked);
    client->is_closed = true;
    if (client->is_waiting)
        tell_gone(client);
    else
        http_client_free(client);
}

void http_client_wind_up(struct http_client *client)
{
    if (client->is_waiting || client->phase == HTTP_LEAVING)
        return; /* its turn comes */
    if (client->phase != HTTP_HELD)
        await_last_reply(client, "the node is stopping");
    else if (has_unread_reply(client))
        arm_timer(client, reading_ms(client->http));
}

static void on_timer(struct timer *timer)
{
    struct http_client *client = CONTAINER_OF(timer, struct http_client, timer);

    if (client->base.connection.state != CONNECTION_OPEN && client->phase < HTTP_HELD)
        return; /* it ends already */
    switch (client->phase) {
    case HTTP_IN_HEAD:
        http_request_begin(client, BYTES(""))->body.state = BODY_LOST;
        /* fall through */
    case HTTP_IN_BODY:
        http_request_refuse(client->request, client->excess ? client->excess : HTTP_ERROR_SLOW);
        break;
    case HTTP_HELD:
        if (has_unread_reply(client))
            connection_close(&client->base.connection, "it does not read its reply");
        else
            unhold(client);
        break;
    case HTTP_LEAVING:
        await_last_reply(client, "it was answered early");
        break;
    default:
        connection_close(&client->base.connection, "it does not read its last reply");
    }
}

void http_client_init(struct http_client *client, struct http *h, int fd, struct peer *peer)
{
    client->http = h;
    timer_init(&client->timer, on_timer);
    port_join(&h->port, &client->base, fd, peer, !client->excess);
    if (client->excess)
        arm_timer(client, EXCESS_MS);
    LOG_DEBUG("http", "connection %llu: accepted%s",
              (unsigned long long)client->base.connection.number,
              client->excess ? " without a place" : "");
}
