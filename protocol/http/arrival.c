/* A request on its way in: its head, then its body.
 *
 * Errors are found as soon as the head is there. A wanted body is collected. An unwanted body
 * is thrown away when it is small, so that the connection can go on, and else refused when it
 * is announced. (That of an operator's request is collected all the same: the audit log has its
 * beginning.)
 *
 * Bodies have a budget of memory. The memory of a body grows with the bytes that have arrived,
 * so announcing much costs others nothing; it never exceeds the body's need, so a single body
 * can use up the whole budget. Small bodies have a budget of their own and never wait for large
 * ones; the first FIRST_ROOM_BYTES of a small body are never refused. Where a budget is used
 * up, these bodies are displaced while they arrive, until the newcomer has room:
 *   - those that came too slowly in the last second: a body that stalls costs others nothing;
 *   - those of an address that has more than half of the budget, if the newcomer's has not.
 * So one address may use all of it, and the next one still gets its half.
 */
#include <string.h>

#include "protocol/access/identity.h"
#include "protocol/access/role.h"
#include "protocol/http/admit.h"
#include "protocol/http/asked.h"
#include "protocol/http/message.h"
#include "protocol/http/exchange.h"
#include "protocol/http/server.h"

#define UNWANTED_MAX_BYTES 4096
#define FIRST_ROOM_BYTES   4096 /* of a small body: never refused */
#define SMALL_BYTES        ROUTE_SMALL_BYTES
#define SMALL_PART         8 /* of the large ones' budget, the small ones have beside it, */
#define SMALL_MIN_BYTES    (1 << 20) /* or this */
#define RATE_WINDOW_MS     1000

/* ---- the head ---- */

/* A page may read, as any link does: the browser does not show the reply to the page. */
static bool is_forgery(const struct exchange *x)
{
    bool is_read = x->route->method && strcmp(x->route->method, "GET") == 0;

    return (!is_read || x->http->app->reads_change) && head_is_foreign(&x->head);
}

/* By TLS a browser asks for a certificate of the page's name, which the node does not have; a
 * page has no token, and a wrong one is refused whatever the name. */
static bool is_beyond_pages(const struct http_request *r)
{
    return r->client->base.connection.tls || admit_is_by_token(r) ||
           (r->exchange.route && r->exchange.route->roles & ACCESS_EVERYBODY);
}

/* Where no names are given, those are good that no page can have. */
static bool is_called_well(const struct http_request *r)
{
    const struct http_options *options = &r->client->http->options;
    struct bytes host = r->exchange.head.host;

    if (options->is_for_operators)
        return true;
    if (options->hosts && *options->hosts)
        return host_is_ours(host, options->hosts);
    if (host_is_ours(host, "") || host_is_private(host) || is_beyond_pages(r))
        return true;
    for (size_t i = 0; i < sizeof(options->own) / sizeof(*options->own); i++)
        if (options->own[i] && host_is_ours(host, options->own[i]))
            return true;
    return false;
}

static enum http_error judge(struct http_request *r)
{
    const struct http *h = r->client->http;
    enum http_error error = route_find(&r->exchange);
    bool is_for_monitors = !error && r->exchange.route->is_for_monitors;

    r->client->is_slowed = !port_take_request(&r->client->base, is_for_monitors);
    if (r->client->excess && !is_for_monitors)
        return (enum http_error)r->client->excess;
    if (h->port.is_stopping)
        return HTTP_ERROR_STOPPING;
    if (r->client->is_slowed && !is_for_monitors)
        return HTTP_ERROR_REQUESTS;
    if (!is_called_well(r))
        return HTTP_ERROR_WRONG_HOST;
    if (!error && is_forgery(&r->exchange))
        return HTTP_ERROR_FOREIGN;
    return error ? error : admit(r);
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

/* ---- the budget ---- */

static int64_t now_of(const struct http_request *r)
{
    return timers_now(&r->client->http->port.loop->timers);
}

/* The budget of small bodies, or of large ones. */
static size_t budget(const struct http *h, bool is_large)
{
    size_t max = h->options.bodies_max_bytes;

    if (is_large)
        return max;
    return max / SMALL_PART > SMALL_MIN_BYTES ? max / SMALL_PART : SMALL_MIN_BYTES;
}

static bool is_too_slow(size_t bytes, int64_t ms, int64_t rate_min)
{
    return (int64_t)bytes * 1000 < ms * rate_min;
}

/* Slow: nothing came for a window's time, or too little in the last complete window. */
static bool is_slow(const struct http_request *r, int64_t now_mono_ms)
{
    int64_t ms = now_mono_ms - r->window_mono_ms, rate_min = r->client->http->options.rate_min;

    if (rate_min && now_mono_ms - r->last_mono_ms >= RATE_WINDOW_MS)
        return true;
    return ms < RATE_WINDOW_MS ? r->was_slow
                               : is_too_slow(r->content.len - r->window_bytes, ms, rate_min);
}

/* Call when more of the body has come. */
static void note_rate(struct http_request *r)
{
    int64_t now_mono_ms = now_of(r);

    if (now_mono_ms - r->window_mono_ms >= RATE_WINDOW_MS) {
        r->was_slow = is_slow(r, now_mono_ms);
        r->window_mono_ms = now_mono_ms;
        r->window_bytes = r->content.len;
    }
    r->last_mono_ms = now_mono_ms;
}

static void begin_to_arrive(struct http_request *r)
{
    r->window_mono_ms = r->last_mono_ms = now_of(r);
    list_append(&r->client->http->arriving, &r->arriving);
}

void http_body_arrived(struct http_request *r)
{
    list_remove(&r->arriving);
}

static void charge(struct http_request *r, bool is_large, size_t bytes)
{
    r->is_large = is_large;
    r->client->http->body_bytes[is_large] += bytes;
    r->client->base.peer->body_bytes[is_large] += bytes;
    if (r->exchange.who)
        r->exchange.who->account->bytes += bytes;
}

static void discharge(struct http_request *r)
{
    r->client->http->body_bytes[r->is_large] -= r->content.room;
    r->client->base.peer->body_bytes[r->is_large] -= r->content.room;
    if (r->exchange.who)
        r->exchange.who->account->bytes -= r->content.room;
}

void http_body_release(struct http_request *r)
{
    discharge(r);
    buf_fini(&r->content);
}

static bool has_more_than_half(const struct http_request *r, bool is_large, uint64_t more)
{
    return r->client->base.peer->body_bytes[is_large] + more >
           budget(r->client->http, is_large) / 2;
}

/* Is it displaced by `r`, which wants `more`? */
static bool gives_way(const struct http_request *it, const struct http_request *r,
                      bool is_large, uint64_t more)
{
    if (it == r || it->is_large != is_large || !it->content.room)
        return false;
    return is_slow(it, now_of(r)) ||
           (has_more_than_half(it, is_large, 0) && !has_more_than_half(r, is_large, more));
}

/* Is there room for all of the announced body? Takes none yet. */
static bool may_have_room(const struct http_request *r)
{
    const struct http *h = r->client->http;
    uint64_t more = r->exchange.head.body_bytes, used;
    bool is_large = more > SMALL_BYTES;

    if (more <= FIRST_ROOM_BYTES)
        return true;
    used = h->body_bytes[is_large];
    LIST_EACH (link, &h->arriving) {
        const struct http_request *it = CONTAINER_OF(link, struct http_request, arriving);

        if (used + more <= budget(h, is_large))
            break;
        used -= gives_way(it, r, is_large, more) ? it->content.room : 0;
    }
    return used + more <= budget(h, is_large);
}

/* NULL: no body gives way. */
static struct http_request *find_victim(const struct http_request *r, bool is_large,
                                        size_t more)
{
    LIST_EACH (link, &r->client->http->arriving) {
        struct http_request *it = CONTAINER_OF(link, struct http_request, arriving);

        if (gives_way(it, r, is_large, more))
            return it;
    }
    return NULL;
}

/* May the content have `whole` bytes, as far as its address and its identity go? An
 * acknowledgement always may. */
static enum http_error judge_bytes(const struct http_request *r, uint64_t whole)
{
    const size_t *bytes = r->client->base.peer->body_bytes;
    const struct identity *who = r->exchange.who;

    if (whole <= FIRST_ROOM_BYTES)
        return HTTP_ERROR_NONE;
    if (!port_may_have_bytes(&r->client->base, bytes[false] + bytes[true] - r->content.room,
                             whole))
        return HTTP_ERROR_BYTES;
    return !who || identity_may_have_bytes(who, who->account->bytes - r->content.room, whole)
               ? HTTP_ERROR_NONE
               : HTTP_ERROR_IDENTITY_BYTES;
}

/* Makes `room` for the content. A chunked body may turn out to be large. */
static enum http_error make_room(struct http_request *r, size_t room)
{
    struct http *h = r->client->http;
    bool is_large = r->exchange.head.body_bytes > SMALL_BYTES || room > SMALL_BYTES;
    size_t more = room - (is_large == r->is_large ? r->content.room : 0);
    bool is_free = !is_large && room <= FIRST_ROOM_BYTES;
    enum http_error error = judge_bytes(r, room);
    struct http_request *victim;

    if (error)
        return error;
    while (!is_free && h->body_bytes[is_large] + more > budget(h, is_large)) {
        victim = find_victim(r, is_large, more);
        if (!victim)
            return HTTP_ERROR_BODIES;
        http_request_refuse(victim, victim->error ? victim->error : HTTP_ERROR_DISPLACED);
    }
    discharge(r);
    buf_resize(&r->content, room);
    charge(r, is_large, r->content.room);
    return HTTP_ERROR_NONE;
}

static enum http_error judge_length(const struct http_request *r)
{
    enum http_error error = judge_bytes(r, r->exchange.head.body_bytes);

    if (error)
        return error;
    return may_have_room(r) ? HTTP_ERROR_NONE : HTTP_ERROR_BODIES;
}

/* A client that waits for "100 Continue" is sent the refusal instead. */
static void begin_body(struct http_request *r)
{
    const struct head *head = &r->exchange.head;
    enum http_error error;

    r->error = judge(r);
    error = body_begin(&r->body, head, body_max_bytes(r));
    if (!error && wanted_body(r) != ROUTE_NO_BODY)
        error = judge_length(r);
    if (r->body.state == BODY_DONE)
        http_request_work(r);
    else if (error || (r->error && head->expects_continue))
        http_request_refuse(r, r->error ? r->error : error);
    else {
        r->client->phase = HTTP_IN_BODY;
        begin_to_arrive(r);
        if (head->expects_continue)
            connection_send(&r->client->base.connection,
                            BYTES("HTTP/1.1 100 Continue\r\n\r\n"));
    }
}

/* Some clients send an empty line behind a body. */
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
    if (!error && admit_holds(client, bytes_of(input.at, len)))
        return 0;
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

/* The memory for the first `len` bytes of a body: doubled each time; beyond half of the body's
 * largest size, all of it. */
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
    enum http_error error;
    size_t room;

    if (!content.len || (wanted_body(r) == ROUTE_NO_BODY && !asked_is_audited(r)))
        return HTTP_ERROR_NONE;
    note_rate(r);
    room = room_for(r, r->content.len + content.len);
    error = room > r->content.room ? make_room(r, room) : HTTP_ERROR_NONE;
    if (error)
        return error;
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
