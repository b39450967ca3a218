#include "protocol/http/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/nearest.h"
#include "protocol/conn/peer.h"
#include "protocol/http/message.h"
#include "protocol/http/server.h"

void *exchange_keep(struct exchange *x, size_t bytes)
{
    free(x->before);
    x->before = x->handler;
    x->handler = must(malloc(bytes));
    return x->handler;
}

struct bytes exchange_query_text(const struct exchange *x, const char *name)
{
    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && x->route->query[i]; i++)
        if (strcmp(x->route->query[i], name) == 0)
            return x->query[i];
    assert(!"the route's list has the name");
    return BYTES("");
}

static bool refuse(struct exchange *x, enum http_error error, const char *name, const char *why)
{
    exchange_reply_error_text(x, error, "query parameter %s: %s", name, why);
    return false;
}

bool exchange_query_int(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out)
{
    struct bytes text = exchange_query_text(x, name);
    int64_t value = fallback;
    char range[64];

    if (text.at && !number_read(text, &value))
        return refuse(x, HTTP_ERROR_BAD_REQUEST, name, "not a whole number");
    if (text.at && (value < min || value > max)) {
        snprintf(range, sizeof(range), "from %lld to %lld", (long long)min, (long long)max);
        return refuse(x, HTTP_ERROR_OUT_OF_RANGE, name, range);
    }
    *out = value;
    return true;
}

/* Replies. A reply is written into one buffer, head and body, and goes out in one write; the
 * buffer is the server's and stays, because there is always a next reply. Only a large body is
 * not copied, and goes out by itself.
 */

#define JSON              "application/json"
#define MESSAGE_MAX_BYTES 512
#define COPIED_MAX_BYTES  65536

static const char *phrase_of(int code)
{
    static const struct {
        int code;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {302, "Found"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
        if (phrases[i].code == code)
            return phrases[i].phrase;
    return ""; /* it is for people, and may be empty */
}

/* ---- the head ---- */

static void add_field(struct buf *out, const char *name, const char *value)
{
    buf_add_text(out, name);
    buf_add_text(out, ": ");
    buf_add_text(out, value);
    buf_add_text(out, "\r\n");
}

static void add_status_line(struct buf *out, int code)
{
    buf_add_text(out, "HTTP/1.1 ");
    buf_add_number(out, code);
    buf_add_char(out, ' ');
    buf_add_text(out, phrase_of(code));
    buf_add_text(out, "\r\n");
}

/* The line is made anew once a second. */
static void add_date(struct buf *out, struct http *h)
{
    time_t now = time(NULL);
    struct tm parts;

    if (now != h->date_s) {
        h->date_s = now;
        strftime(h->date, sizeof(h->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
                 gmtime_r(&now, &parts));
    }
    buf_add_text(out, h->date);
}

static void add_connection(struct buf *out, const struct http_request *r)
{
    bool is_kept = http_request_is_kept(r);

    if (!is_kept || r->exchange.head.is_old)
        add_field(out, "Connection", is_kept ? "keep-alive" : "close");
}

static void add_head(struct buf *out, struct exchange *x, int code)
{
    x->code = code;
    add_status_line(out, code);
    add_date(out, x->http);
    add_field(out, "X-Request-Id", x->request_id);
    add_connection(out, CONTAINER_OF(x, struct http_request, exchange));
    buf_add_bytes(out, buf_bytes(&x->fields));
}

/* ---- replies ---- */

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body)
{
    struct buf *out = &x->http->reply;
    bool is_large = body.len > COPIED_MAX_BYTES;

    add_head(out, x, code);
    add_field(out, "Content-Type", content_type);
    buf_add_text(out, "Content-Length: ");
    buf_add_number(out, (int64_t)body.len);
    buf_add_text(out, "\r\n\r\n");
    if (bytes_equal(x->head.method, BYTES("HEAD")))
        body = BYTES("");
    if (!is_large)
        buf_add_bytes(out, body);
    http_request_answer(CONTAINER_OF(x, struct http_request, exchange),
                        is_large ? body : BYTES(""));
}

void exchange_reply_body(struct exchange *x, int code, struct bytes body)
{
    const char *type = x->http->app->content_type;

    exchange_reply(x, code, type ? type : JSON, body);
}

/* `body` may lie in the handler's memory, which goes with the exchange. */
void exchange_reply_buf(struct exchange *x, int code, struct buf *body)
{
    struct buf own = *body;

    exchange_reply_body(x, code, buf_bytes(&own));
    buf_fini(&own);
}

/* 204 has no body, and must not say how long it is. */
void exchange_reply_nothing(struct exchange *x)
{
    add_head(&x->http->reply, x, 204);
    buf_add_text(&x->http->reply, "\r\n");
    http_request_answer(CONTAINER_OF(x, struct http_request, exchange), BYTES(""));
}

void exchange_reply_status(struct exchange *x, int code, const char *word)
{
    char json[64];
    int len = snprintf(json, sizeof(json), "{\"status\":\"%s\"}", word);

    exchange_reply_body(x, code, bytes_of(json, (size_t)len));
}

static void reply_error(struct exchange *x, enum http_error error, struct bytes message,
                        int64_t count)
{
    struct buf body = BUF_INIT;
    int code;

    if (x->http->options.errors)
        x->http->options.errors[error]++;
    x->error = http_error_row(error)->word;
    x->count = count;
    code = x->http->app->write_error(x, &body, error, message, count);
    if (code == 503 || code == 429)
        exchange_add_header(x, "Retry-After", "1");
    exchange_reply_body(x, code, buf_bytes(&body));
    buf_fini(&body);
}

void exchange_reply_error(struct exchange *x, enum http_error error)
{
    reply_error(x, error, bytes_of_text(http_error_row(error)->text), HTTP_ERROR_NO_COUNT);
}

void exchange_reply_error_text(struct exchange *x, enum http_error error, const char *format,
                               ...)
{
    char text[MESSAGE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reply_error(x, error, bytes_of_text(text), HTTP_ERROR_NO_COUNT);
}

void exchange_reply_error_count(struct exchange *x, enum http_error error, const char *text,
                                uint64_t count)
{
    reply_error(x, error, bytes_of_text(text), (int64_t)count);
}

void exchange_reply_status_error(struct exchange *x, enum status status)
{
    exchange_reply_error(x, http_error_of(status));
}

/* ---- before the reply ---- */

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    add_field(&x->fields, name, value);
}

void exchange_carry(struct exchange *x, struct delivery *d)
{
    assert(x->delivery_count < EXCHANGE_DELIVERIES_MAX);
    x->deliveries[x->delivery_count++] = d;
}

bool exchange_is_stopping(const struct exchange *x)
{
    return x->http->port.is_stopping;
}

struct queue *exchange_queue(const struct exchange *x)
{
    return x->http->port.queue;
}

struct bytes exchange_topic(const struct exchange *x, struct bytes name,
                            char room[EXCHANGE_TOPIC_MAX])
{
    size_t front = x->namespace.len;

    if (front + 1 + name.len > EXCHANGE_TOPIC_MAX)
        return BYTES("");
    memcpy(room, x->namespace.at, front);
    room[front] = x->http->app->joint;
    if (name.len)
        memcpy(room + front + 1, name.at, name.len);
    return bytes_of(room, front + 1 + name.len);
}

struct bytes exchange_client(struct exchange *x)
{
    return peer_name(&CONTAINER_OF(x, struct http_request, exchange)->client->base.connection);
}

struct bytes exchange_address(const struct exchange *x)
{
    return peer_address(CONTAINER_OF(x, struct http_request, exchange)->client->base.peer);
}

uint64_t exchange_holder(const struct exchange *x)
{
    return CONTAINER_OF(x, struct http_request, exchange)->client->base.connection.number;
}

/* FNV-1a. Two addresses with the same number were one in 2^64. */
uint64_t exchange_group(const struct exchange *x)
{
    struct bytes address = exchange_address(x);
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < address.len; i++)
        hash = (hash ^ (unsigned char)address.at[i]) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

/* HEAD goes where GET goes, and its reply has no body; where a GET may change something, HEAD
 * goes nowhere: a job that is popped must not be lost.
 *
 * Paths and queries are cut into their parts first and unescaped then, so that any byte can be
 * in any part. An unknown name in the query is refused: a typing error must not turn into a
 * default.
 */

#define QUOTED_MAX_BYTES 60 /* of what the client wrote */

/* ---- the path ---- */

/* The part in front of the first `c`, or the whole text. */
static struct bytes up_to(struct bytes text, char c)
{
    const char *at = text.len ? memchr(text.at, c, text.len) : NULL;

    return bytes_of(text.at, at ? (size_t)(at - text.at) : text.len);
}

static void skip(struct bytes *text, struct bytes front)
{
    *text = bytes_of(text->at + front.len, text->len - front.len);
}

static bool begins_with(struct bytes text, struct bytes front)
{
    return text.len >= front.len && memcmp(text.at, front.at, front.len) == 0;
}

/* Comparing the last byte first spares most of the work. No path is empty. */
static bool may_match(struct bytes form, struct bytes path)
{
    char last = form.at[form.len - 1];

    return last == '}' || last == path.at[path.len - 1];
}

/* The parameters in a path. */
struct parameters {
    struct bytes topic, id, namespace;
};

static struct bytes *parameter_of(struct parameters *p, struct bytes name)
{
    switch (name.at[1]) {
    case 'i':
        return &p->id;
    case 'n':
        return &p->namespace;
    default:
        return &p->topic;
    }
}

/* Changes `p` even without a match. */
static bool is_match(const struct route *route, struct bytes path, struct parameters *p)
{
    struct bytes form = route->path;

    if (!may_match(form, path))
        return false;
    for (;;) {
        struct bytes plain = up_to(form, '{'), name, segment;

        if (!begins_with(path, plain))
            return false;
        skip(&path, plain);
        skip(&form, plain);
        if (!form.len)
            return path.len == 0;
        name = up_to(form, '/');
        segment = up_to(path, '/');
        if (!segment.len)
            return false;
        *parameter_of(p, name) = segment;
        skip(&path, segment);
        skip(&form, name);
    }
}

static bool has_method(const struct http_app *app, const struct route *route,
                       struct bytes method)
{
    if (bytes_equal(method, BYTES("HEAD"))) {
        if (app->reads_change && !route->is_for_monitors)
            return false;
        method = BYTES("GET");
    }
    return !route->method || bytes_equal(bytes_of_text(route->method), method);
}

enum http_error route_find(struct exchange *x)
{
    const struct http_app *app = x->http->app;
    enum http_error error = HTTP_ERROR_NO_PATH;

    for (size_t i = 0; i < app->route_count; i++) {
        struct parameters p = {.id = BYTES("")};

        if (!is_match(&app->routes[i], x->head.path, &p))
            continue;
        error = HTTP_ERROR_METHOD;
        if (!has_method(app, &app->routes[i], x->head.method))
            continue;
        x->route = &app->routes[i];
        x->topic = p.topic;
        x->id = p.id;
        x->namespace = p.namespace;
        return HTTP_ERROR_NONE;
    }
    return error;
}

/* A '/' at the end is not simply cut off: often an empty id was meant to follow, and the list
 * is not what the client wants. */
bool route_is_there_without_slash(const struct http_app *app, struct bytes path)
{
    struct bytes front = bytes_of(path.at, path.len - 1);
    struct parameters p;

    for (size_t i = 0; path.len > 1 && path.at[front.len] == '/' && i < app->route_count; i++)
        if (is_match(&app->routes[i], front, &p))
            return true;
    return false;
}

void route_print_allowed(const struct http_app *app, struct bytes path, struct buf *to)
{
    struct parameters p;

    for (size_t i = 0; i < app->route_count; i++) {
        if (!is_match(&app->routes[i], path, &p))
            continue;
        if (to->len)
            buf_add_text(to, ", ");
        buf_add_text(to, app->routes[i].method ? app->routes[i].method : "GET, POST");
        if (has_method(app, &app->routes[i], BYTES("HEAD")))
            buf_add_text(to, ", HEAD");
    }
}

/* ---- the query ---- */

/* The name's place in the route's list; EXCHANGE_QUERY_MAX: not there. */
static unsigned index_of(const struct route *route, struct bytes name)
{
    unsigned i = 0;

    while (i < EXCHANGE_QUERY_MAX && route->query[i] &&
           !bytes_equal(bytes_of_text(route->query[i]), name))
        i++;
    return i < EXCHANGE_QUERY_MAX && route->query[i] ? i : EXCHANGE_QUERY_MAX;
}

static const char *meant_by(const struct route *route, struct bytes name)
{
    struct nearest nearest = nearest_to(name);

    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && route->query[i]; i++)
        nearest_offer(&nearest, route->query[i]);
    return nearest.found;
}

/* NULL, or what is wrong with the parameter; then `meant` may be the name that was meant. */
static const char *take_parameter(struct exchange *x, struct bytes *name, struct bytes value,
                                  const char **meant)
{
    bool is_lenient = x->http->app->ignores_unknown_query;
    struct bytes sent = *name;
    unsigned i;

    if (!url_unescape(name)) {
        *name = sent;
        return is_lenient ? NULL : "a '%' is not followed by two hexadecimal digits";
    }
    i = index_of(x->route, *name);
    if (is_lenient && (i == EXCHANGE_QUERY_MAX || x->query[i].at))
        return NULL;
    if (!url_unescape(&value)) {
        *name = sent;
        return "a '%' is not followed by two hexadecimal digits";
    }
    if (i == EXCHANGE_QUERY_MAX) {
        *meant = meant_by(x->route, *name);
        return "this path does not know such a parameter";
    }
    if (x->query[i].at)
        return "it is given twice";
    x->query[i] = value;
    return NULL;
}

static bool take_query(struct exchange *x)
{
    struct bytes rest = x->head.query, name, value;
    const char *wrong = NULL, *meant = NULL;

    if (x->route->is_for_monitors)
        return true;
    while (!wrong && url_query_next(&rest, &name, &value))
        wrong = take_parameter(x, &name, value, &meant);
    if (!wrong)
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "query parameter %.*s: %s%s%s%s",
                              name.len < QUOTED_MAX_BYTES ? (int)name.len : QUOTED_MAX_BYTES,
                              name.at, wrong, meant ? "; did you mean " : "",
                              meant ? meant : "", meant ? "?" : "");
    return false;
}

/* ---- the handler ---- */

static bool take_path(struct exchange *x)
{
    bool is_fine =
        url_unescape(&x->topic) && url_unescape(&x->id) && url_unescape(&x->namespace);

    if (!is_fine)
        exchange_reply_error(x, HTTP_ERROR_ESCAPE);
    return is_fine;
}

void route_take(struct exchange *x)
{
    struct http *h = x->http;

    if (take_path(x) && take_query(x))
        x->route->handle(x);
    else
        h->port.stats.refused++;
}
