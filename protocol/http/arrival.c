/* A request on its way in: its head, then its body.
 *
 * What is wrong with it is found as soon as the head is there. A body that somebody wants is
 * collected; one that nobody wants is thrown away when it is small, so that the connection can
 * go on, and refused at its announcement when it is not. All bodies together have a budget,
 * which counts memory. A body's grows with what has arrived, so announcing much costs others
 * nothing; and not beyond what it may need, so a single one can use up the whole budget.
 */
#include <string.h>

#include "protocol/http/host.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

#define UNWANTED_MAX_BYTES 4096
#define FIRST_ROOM_BYTES   4096

/* ---- the head ---- */

/* Looking is fine, as any link does it: the browser does not show the reply to the page. */
static bool is_forgery(const struct exchange *x)
{
    return strcmp(x->route->method, "GET") != 0 && head_is_foreign(&x->head);
}

static enum http_error judge(struct http_request *r)
{
    const struct http *h = r->client->http;
    enum http_error error;

    if (r->client->is_excess)
        return HTTP_ERROR_CROWDED;
    if (h->is_stopping)
        return HTTP_ERROR_STOPPING;
    if (!host_is_ours(r->exchange.head.host, h->options.hosts))
        return HTTP_ERROR_WRONG_HOST;
    error = route_find(&r->exchange);
    return !error && is_forgery(&r->exchange) ? HTTP_ERROR_FOREIGN : error;
}

static enum route_body wanted_body(const struct http_request *r)
{
    return r->error ? ROUTE_NO_BODY : r->exchange.route->body;
}

static uint64_t body_max_bytes(const struct http_request *r)
{
    switch (wanted_body(r)) {
    case ROUTE_SMALL_BODY:
        return ROUTE_SMALL_BYTES;
    case ROUTE_JOBS_BODY:
        return r->client->http->options.body_max_bytes;
    default:
        return UNWANTED_MAX_BYTES;
    }
}

static bool has_budget(const struct http *h, uint64_t more)
{
    return h->body_bytes + more <= h->options.bodies_max_bytes;
}

/* Who waits with the body for our word is told the refusal instead. */
static void begin_body(struct http_request *r)
{
    const struct head *head = &r->exchange.head;
    enum http_error error;

    r->error = judge(r);
    error = body_begin(&r->body, head, body_max_bytes(r));
    if (!error && wanted_body(r) != ROUTE_NO_BODY &&
        !has_budget(r->client->http, head->body_bytes))
        error = HTTP_ERROR_BODIES;
    if (r->body.state == BODY_DONE)
        http_request_work(r);
    else if (r->error && (error || head->expects_continue))
        http_request_refuse(r, r->error);
    else if (error)
        http_request_refuse(r, error);
    else {
        r->client->phase = HTTP_IN_BODY;
        if (head->expects_continue)
            http_client_send(r->client, BYTES("HTTP/1.1 100 Continue\r\n\r\n"));
    }
}

/* Some send one behind a body. */
static bool is_empty_line(struct bytes input)
{
    return input.len >= 2 && memcmp(input.at, "\r\n", 2) == 0;
}

size_t http_take_head(struct http_client *client, struct bytes input)
{
    struct http_request *r;
    size_t seen = client->seen, len;
    enum http_error error;

    client->seen = 0;
    if (is_empty_line(input))
        return 2;
    error = head_find_end(input, &seen, &len);
    if (!error && !len) {
        client->seen = (uint16_t)seen;
        return 0;
    }
    r = http_request_begin(client, bytes_of(input.at, len));
    if (!error)
        error = head_parse(bytes_of(r->head, len), &r->exchange.head);
    if (error) {
        r->body.state = BODY_LOST;
        http_request_refuse(r, error);
        return input.len;
    }
    begin_body(r);
    return len;
}

/* ---- the body ---- */

/* The memory for the first `len` bytes of a body: twice as much each time, and from the half
 * of what it may become on, all of it. */
static size_t room_for(const struct http_request *r, size_t len)
{
    uint64_t whole = r->body.is_chunked ? r->body.max_bytes : r->exchange.head.body_bytes;
    size_t room = r->content.room ? r->content.room : FIRST_ROOM_BYTES;

    while (room < len)
        room *= 2;
    return room > whole / 2 ? (size_t)whole : room;
}

static enum http_error keep(struct http_request *r, struct bytes content)
{
    struct http *h = r->client->http;
    size_t room, more;

    if (wanted_body(r) == ROUTE_NO_BODY || !content.len)
        return HTTP_ERROR_NONE;
    room = room_for(r, r->content.len + content.len);
    more = room - r->content.room;
    if (!has_budget(h, more))
        return HTTP_ERROR_BODIES;
    if (more)
        buf_resize(&r->content, room);
    h->body_bytes += more;
    buf_add_bytes(&r->content, content);
    return HTTP_ERROR_NONE;
}

size_t http_take_body(struct http_client *client, struct bytes input)
{
    struct http_request *r = client->request;
    struct bytes content;
    size_t used;
    enum http_error error = body_take(&r->body, input, &used, &content);

    if (!error)
        error = keep(r, content);
    if (error) {
        http_request_refuse(r, r->error ? r->error : error);
        return input.len;
    }
    if (r->body.state == BODY_DONE)
        http_request_work(r);
    return used;
}
