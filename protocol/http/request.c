/* A request from its beginning to its end: a route's handler answers it, or the server refuses
 * it; then the client goes on to the next request, or ends.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/http/exchange.h"
#include "protocol/http/server.h"
#include "protocol/conn/floating.h"

#define SCRATCH_BYTES 65536 /* kept from one reply to the next */

struct http_request *http_request_begin(struct http_client *client, struct bytes head)
{
    struct http_request *r = malloc(sizeof(*r) + head.len);

    if (!r)
        abort();
    memset(r, 0, sizeof(*r));
    if (head.len)
        memcpy(r->head, head.at, head.len);
    client->http->port.stats.requests++;
    r->client = client;
    list_init(&r->arriving);
    r->exchange.http = client->http;
    r->exchange.arg = client->http->arg;
    client->request = r;
    return r;
}

void http_request_end(struct http_request *r)
{
    http_body_arrived(r);
    http_body_release(r);
    r->client->request = NULL;
    r->client->phase = HTTP_IN_HEAD;
    buf_fini(&r->exchange.fields);
    free(r);
}

/* ---- the answer ---- */

bool http_request_is_kept(const struct http_request *r)
{
    return r->exchange.head.is_kept_alive && r->body.state == BODY_DONE && !r->client->excess &&
           !r->client->http->port.is_stopping &&
           !connection_is_draining(&r->client->base.connection);
}

/* A large buffer is rare: its memory goes back. */
static void reuse(struct buf *scratch)
{
    if (scratch->room > SCRATCH_BYTES)
        buf_fini(scratch);
    else
        buf_clear(scratch);
}

static void send_last(struct http_request *r, struct bytes bytes)
{
    if (r->exchange.delivery)
        unacked_send(&r->client->base.unacked, bytes, r->exchange.delivery);
    else
        connection_send(&r->client->base.connection, bytes);
}

static void send_reply(struct http_request *r, struct bytes rest)
{
    struct buf *reply = &r->client->http->reply;

    if (rest.len)
        connection_send(&r->client->base.connection, buf_bytes(reply));
    send_last(r, rest.len ? rest : buf_bytes(reply));
    reuse(reply);
}

void http_request_answer(struct http_request *r, struct bytes rest)
{
    struct http_client *client = r->client;
    bool is_kept = http_request_is_kept(r);
    bool has_read_all = r->body.state == BODY_DONE;

    send_reply(r, rest);
    http_request_end(r);
    http_client_answered(client, is_kept, has_read_all);
    if (!client->is_waiting)
        return;
    client->is_waiting = false;
    connection_done(&client->base.connection);
    if (client->is_closed)
        http_client_free(client);
}

/* ---- the work ---- */

static void choose_id(struct exchange *x)
{
    struct bytes given = x->head.request_id;
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    uint64_t number;

    if (given.len) {
        memcpy(x->request_id, given.at, given.len);
        return;
    }
    number = ++x->http->ids;
    for (*at = '\0'; number; number /= 10)
        *--at = (char)('0' + number % 10);
    *--at = '-';
    stpcpy(stpcpy(x->request_id, x->http->id_prefix), at);
}

static void add_allowed(struct exchange *x)
{
    struct buf methods = BUF_INIT;

    route_print_allowed(x->http->app, x->head.path, &methods);
    exchange_add_header(x, "Allow", buf_text(&methods));
    buf_fini(&methods);
}

void http_request_refuse(struct http_request *r, enum http_error error)
{
    struct exchange *x = &r->exchange;

    timer_disarm(&x->http->port.loop->timers, &r->client->timer);
    http_body_arrived(r);
    x->http->port.stats.refused++;
    choose_id(x);
    if (error == HTTP_ERROR_METHOD)
        add_allowed(x);
    if (error == HTTP_ERROR_NO_PATH && route_is_there_without_slash(x->http->app, x->head.path))
        exchange_reply_error_text(x, error, "%s; without the '/' at its end there is",
                                  http_error_row(error)->text);
    else
        exchange_reply_error(x, error);
}

void http_request_work(struct http_request *r)
{
    struct http_client *client = r->client;

    if (!r->error && client->http->port.is_stopping)
        r->error = HTTP_ERROR_STOPPING; /* its body came too late */
    if (r->error) {
        http_request_refuse(r, r->error);
        return;
    }
    timer_disarm(&client->http->port.loop->timers, &client->timer);
    http_body_arrived(r);
    choose_id(&r->exchange);
    r->exchange.body = r->content.len ? buf_bytes(&r->content) : BYTES("");
    client->phase = HTTP_IN_WORK;
    route_take(&r->exchange);
    if (client->phase != HTTP_IN_WORK)
        return; /* answered within the call: r is gone, and the client reads the next head */
    client->is_waiting = true;
    connection_begin(&client->base.connection);
}
