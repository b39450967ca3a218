#include "protocol/http/exchange.h"

#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "base/list.h"
#include "protocol/http/server.h"

static const char *phrase_of(int code)
{
    static const struct {
        int code;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {417, "Expectation Failed"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
        if (phrases[i].code == code)
            return phrases[i].phrase;
    return ""; /* it is for people, and may be empty */
}

static void add_field(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s: %s\r\n", name, value);
}

static void add_date(struct buf *out)
{
    time_t now = time(NULL);
    struct tm parts;
    char text[40];

    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    add_field(out, "Date", text);
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    add_field(&x->fields, name, value);
}

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body)
{
    struct http_client *client = CONTAINER_OF(x, struct http_client, exchange);
    bool is_kept = http_client_is_kept(client);
    struct buf reply = BUF_INIT;

    buf_printf(&reply, "HTTP/1.1 %d %s\r\n", code, phrase_of(code));
    add_date(&reply);
    add_field(&reply, "X-Request-Id", x->id);
    add_field(&reply, "Content-Type", content_type);
    buf_printf(&reply, "Content-Length: %zu\r\n", body.len);
    if (!is_kept || x->head.is_old)
        add_field(&reply, "Connection", is_kept ? "keep-alive" : "close");
    buf_add_bytes(&reply, buf_bytes(&x->fields));
    buf_add_text(&reply, "\r\n");
    if (!bytes_equal(x->head.method, BYTES("HEAD")))
        buf_add_bytes(&reply, body);
    http_client_answer(client, &reply, is_kept);
}

/* Takes `json` over. */
static void reply_json(struct exchange *x, int code, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

    json_decref(json);
    if (!text)
        abort();
    exchange_reply(x, code, "application/json", bytes_of_text(text));
    free(text);
}

void exchange_reply_status(struct exchange *x, int code, const char *word)
{
    reply_json(x, code, json_pack("{s:s}", "status", word));
}

void exchange_reply_error(struct exchange *x, int code, const char *code_word, const char *text)
{
    if (code == 503)
        exchange_add_header(x, "Retry-After", "1");
    reply_json(x, code,
               json_pack("{s:{s:s, s:s}}", "error", "code", code_word, "message", text));
}
