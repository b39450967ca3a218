#include "protocol/http/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "protocol/conn/peer.h"
#include "protocol/http/router.h"
#include "protocol/http/server.h"

struct bytes exchange_query_text(const struct exchange *x, const char *name)
{
    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && x->route->query[i]; i++)
        if (strcmp(x->route->query[i], name) == 0)
            return x->query[i];
    assert(!"the route's list has the name");
    return BYTES("");
}

static bool is_number(struct bytes text)
{
    size_t digits = text.len && text.at[0] == '-' ? text.len - 1 : text.len;

    for (size_t i = text.len - digits; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return digits > 0;
}

/* What is_number() has passed; beyond the range of the type, its end. */
static int64_t value_of(struct bytes number)
{
    bool is_negative = number.at[0] == '-';
    int64_t value = 0;

    for (size_t i = is_negative; i < number.len; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, number.at[i] - '0', &value))
            return is_negative ? INT64_MIN : INT64_MAX;
    return is_negative ? -value : value;
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

    if (text.at && !is_number(text))
        return refuse(x, HTTP_ERROR_BAD_REQUEST, name, "not a whole number");
    if (text.at)
        value = value_of(text);
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
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
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

/* It changes once a second. */
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

static void add_head(struct buf *out, const struct exchange *x, int code)
{
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

void exchange_reply_json(struct exchange *x, int code, struct bytes json)
{
    exchange_reply(x, code, JSON, json);
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

    exchange_reply_json(x, code, bytes_of(json, (size_t)len));
}

static void reply_error_with(struct exchange *x, enum http_error error, struct bytes message,
                             int64_t count)
{
    int code = http_error_row(error)->code;
    struct buf json = BUF_INIT;

    x->http->errors[error]++;
    if (code == 503)
        exchange_add_header(x, "Retry-After", "1");
    x->http->app->write_error(&json, error, message, count);
    exchange_reply_json(x, code, buf_bytes(&json));
    buf_fini(&json);
}

static void reply_error(struct exchange *x, enum http_error error, struct bytes message)
{
    reply_error_with(x, error, message, HTTP_ERROR_NO_COUNT);
}

void exchange_reply_error(struct exchange *x, enum http_error error)
{
    reply_error(x, error, bytes_of_text(http_error_row(error)->text));
}

void exchange_reply_error_text(struct exchange *x, enum http_error error, const char *format,
                               ...)
{
    char text[MESSAGE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reply_error(x, error, bytes_of_text(text));
}

void exchange_reply_error_count(struct exchange *x, enum http_error error, const char *text,
                                uint64_t count)
{
    reply_error_with(x, error, bytes_of_text(text), (int64_t)count);
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
    x->delivery = d;
}

bool exchange_is_stopping(const struct exchange *x)
{
    return x->http->port.is_stopping;
}

struct bytes exchange_client(struct exchange *x)
{
    return peer_name(&CONTAINER_OF(x, struct http_request, exchange)->client->base.connection);
}

struct bytes exchange_address(const struct exchange *x)
{
    return peer_address(CONTAINER_OF(x, struct http_request, exchange)->client->base.peer);
}
