/* A connection, one request after the other.
 *
 *   IN_HEAD --> IN_BODY --> IN_WORK --> IN_HEAD     or the connection ends
 *                                  \--> HELD -----> IN_HEAD
 *                                  \--> LEAVING     then it ends
 *
 *   IN_WORK   the handler has it; nothing more is read
 *   HELD      its client has to read the last reply first, or others are to have their turn
 *   LEAVING   answered before its body was there: what still comes is thrown away for a
 *             while, because a close that meets unread bytes becomes a reset, which may
 *             overtake the reply
 *
 * The timer bounds each of them but IN_WORK: a whole request has a time to arrive (an idle
 * connection is connection.c's), a reply has one to be read.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

#define BODY_MAX_BYTES    4096  /* on paths that take none */
#define ARRIVAL_MAX_MS    60000 /* a request, from its first byte to its last */
#define UNREAD_MAX_MS     60000 /* a reply */
#define LEAVING_MS        1000
#define EXCESS_MS         1000 /* a client over the limit waits for its refusal */
#define REQUESTS_PER_TURN 16

static struct http_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct http_client, connection);
}

static void arm_timer(struct http_client *client, int64_t delay_ms)
{
    timer_arm(&client->http->loop->timers, &client->timer, delay_ms);
}

static void disarm_timer(struct http_client *client)
{
    timer_disarm(&client->http->loop->timers, &client->timer);
}

static bool has_unread_reply(const struct connection *c)
{
    return c->flushed_bytes != c->sent_bytes;
}

/* ---- the exchange ---- */

static void choose_id(struct exchange *x)
{
    struct bytes given = x->head.request_id;

    if (given.len)
        snprintf(x->id, sizeof(x->id), "%.*s", BYTES_ARG(given));
    else
        snprintf(x->id, sizeof(x->id), "%016llx-%llu", (unsigned long long)x->http->id_prefix,
                 (unsigned long long)++x->http->ids);
}

static void begin_exchange(struct http_client *client)
{
    client->http->stats.requests++;
    client->exchange = (struct exchange){.http = client->http};
    client->body = (struct body){.state = BODY_DONE};
    client->fault = HTTP_FAULT_NONE;
    client->route = NULL;
}

static void end_exchange(struct http_client *client)
{
    buf_fini(&client->head);
    buf_fini(&client->exchange.fields);
    client->phase = HTTP_IN_HEAD;
}

bool http_client_is_kept(const struct http_client *client)
{
    return client->exchange.head.is_kept_alive && client->body.state == BODY_DONE &&
           !client->is_excess && !client->http->is_stopping;
}

static void leave(struct http_client *client)
{
    if (client->body.state == BODY_DONE) {
        connection_wind_up(&client->connection, "it was the last request");
    } else {
        client->phase = HTTP_LEAVING;
        arm_timer(client, LEAVING_MS);
    }
}

void http_client_answer(struct http_client *client, struct buf *reply, bool is_kept)
{
    connection_send(&client->connection, buf_bytes(reply));
    buf_fini(reply);
    end_exchange(client);
    if (!is_kept)
        leave(client);
    if (!client->is_waiting)
        return;
    client->is_waiting = false;
    connection_done(&client->connection);
    if (client->is_closed)
        http_client_free(client);
}

/* Answers in the handler's place. */
static void refuse(struct http_client *client, enum http_fault fault)
{
    const struct http_fault_text *what = http_fault_text(fault);
    struct exchange *x = &client->exchange;

    disarm_timer(client);
    client->http->stats.refused++;
    choose_id(x);
    if (fault == HTTP_FAULT_METHOD)
        exchange_add_header(x, "Allow", "GET, HEAD");
    exchange_reply_error(x, what->code, what->word, what->text);
}

static void work(struct http_client *client)
{
    if (client->fault) {
        refuse(client, client->fault);
        return;
    }
    disarm_timer(client);
    choose_id(&client->exchange);
    client->phase = HTTP_IN_WORK;
    route_take(client->route, &client->exchange);
    if (client->phase != HTTP_IN_WORK)
        return;
    client->is_waiting = true;
    connection_begin(&client->connection);
}

/* ---- input, by phase: each says how much of it was used ---- */

static enum http_fault judge(struct http_client *client)
{
    if (client->is_excess)
        return HTTP_FAULT_CROWDED;
    if (client->http->is_stopping)
        return HTTP_FAULT_STOPPING;
    return route_find(&client->exchange.head, &client->route);
}

/* Who waits with the body for our word is told the refusal instead. */
static void begin_body(struct http_client *client)
{
    const struct head *head = &client->exchange.head;
    enum http_fault too_large = body_begin(&client->body, head, BODY_MAX_BYTES);

    client->fault = judge(client);
    if (client->body.state == BODY_DONE)
        work(client);
    else if (client->fault && (too_large || head->expects_continue))
        refuse(client, client->fault);
    else if (too_large)
        refuse(client, too_large);
    else {
        client->phase = HTTP_IN_BODY;
        if (head->expects_continue)
            connection_send(&client->connection, BYTES("HTTP/1.1 100 Continue\r\n\r\n"));
    }
}

/* Some send one behind a body. */
static bool is_empty_line(struct bytes input)
{
    return input.len >= 2 && memcmp(input.at, "\r\n", 2) == 0;
}

static size_t take_head(struct http_client *client, struct bytes input)
{
    size_t len;
    enum http_fault fault;

    if (is_empty_line(input)) {
        client->seen = 0;
        return 2;
    }
    fault = head_find_end(input, &client->seen, &len);
    if (!fault && !len)
        return 0;
    client->seen = 0;
    begin_exchange(client);
    if (!fault) {
        buf_add(&client->head, input.at, len);
        fault = head_parse(buf_bytes(&client->head), &client->exchange.head);
    }
    if (fault) {
        refuse(client, fault);
        return input.len;
    }
    begin_body(client);
    return len;
}

static size_t take_body(struct http_client *client, struct bytes input)
{
    struct bytes content; /* no path takes any yet */
    size_t used;
    enum http_fault fault = body_take(&client->body, input, &used, &content);

    if (fault) {
        refuse(client, client->fault ? client->fault : fault);
        return input.len;
    }
    if (client->body.state == BODY_DONE)
        work(client);
    return used;
}

static size_t take_nothing(struct http_client *client, struct bytes input)
{
    return 0;
}

static size_t take_all(struct http_client *client, struct bytes input)
{
    return input.len;
}

/* ---- between requests ---- */

static void hold(struct http_client *client, int64_t delay_ms)
{
    client->phase = HTTP_HELD;
    arm_timer(client, delay_ms);
    connection_begin(&client->connection);
}

static void unhold(struct http_client *client)
{
    client->phase = HTTP_IN_HEAD;
    disarm_timer(client);
    if (client->http->is_closing)
        connection_wind_up(&client->connection, "the node is stopping");
    connection_done(&client->connection);
}

/* What comes after this turn. `rest_bytes` of the input are not used yet. */
static void look_ahead(struct http_client *client, size_t rest_bytes)
{
    bool is_idle = client->phase == HTTP_IN_HEAD && rest_bytes == 0;

    if (client->phase == HTTP_IN_HEAD && has_unread_reply(&client->connection))
        hold(client, UNREAD_MAX_MS);
    else if (client->phase == HTTP_IN_HEAD && rest_bytes && client->seen == 0)
        hold(client, 0);
    else if (!is_idle && client->phase <= HTTP_IN_BODY && !timer_is_armed(&client->timer))
        arm_timer(client, ARRIVAL_MAX_MS);
}

size_t http_client_take(struct connection *c, struct bytes input)
{
    static size_t (*const takers[])(struct http_client * client, struct bytes input) = {
        [HTTP_IN_HEAD] = take_head, [HTTP_IN_BODY] = take_body, [HTTP_IN_WORK] = take_nothing,
        [HTTP_HELD] = take_nothing, [HTTP_LEAVING] = take_all,
    };
    struct http_client *client = client_of(c);
    uint64_t enough = client->http->stats.requests + REQUESTS_PER_TURN;
    size_t used = 0, n;

    do {
        n = takers[client->phase](client, bytes_of(input.at + used, input.len - used));
        used += n;
    } while (n && used < input.len && c->state == CONNECTION_OPEN && !has_unread_reply(c) &&
             client->http->stats.requests < enough);
    if (c->state == CONNECTION_OPEN)
        look_ahead(client, input.len - used);
    return used;
}

/* ---- the connection ---- */

void http_client_flushed(struct connection *c)
{
    struct http_client *client = client_of(c);

    if (client->phase == HTTP_HELD && !has_unread_reply(c))
        unhold(client);
}

void http_client_closed(struct connection *c)
{
    struct http_client *client = client_of(c);

    disarm_timer(client);
    client->is_closed = true;
    if (!client->is_waiting)
        http_client_free(client);
}

void http_client_wind_up(struct http_client *client, const char *reason)
{
    if (!client->is_waiting && client->phase != HTTP_HELD)
        connection_wind_up(&client->connection, reason);
}

static void on_timer(struct timer *timer)
{
    struct http_client *client = CONTAINER_OF(timer, struct http_client, timer);

    if (client->connection.state != CONNECTION_OPEN && client->phase != HTTP_HELD)
        return; /* it ends already */
    switch (client->phase) {
    case HTTP_IN_HEAD:
        begin_exchange(client);
        /* fall through */
    case HTTP_IN_BODY:
        refuse(client, client->is_excess ? HTTP_FAULT_CROWDED : HTTP_FAULT_SLOW);
        break;
    case HTTP_HELD:
        if (has_unread_reply(&client->connection))
            connection_close(&client->connection, "it does not read its reply");
        else
            unhold(client);
        break;
    default:
        connection_wind_up(&client->connection, "it was answered early");
    }
}

void http_client_init(struct http_client *client, struct http *h, int fd, bool is_excess)
{
    client->http = h;
    client->is_excess = is_excess;
    list_append(&h->clients, &client->link);
    timer_init(&client->timer, on_timer);
    connection_init(&client->connection, &h->kind, fd);
    if (is_excess)
        arm_timer(client, EXCESS_MS);
    LOG_DEBUG("http", "connection %llu: accepted%s",
              (unsigned long long)client->connection.number, is_excess ? " to be refused" : "");
}
