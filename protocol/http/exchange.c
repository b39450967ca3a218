#include "protocol/http/exchange.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <jansson.h>

#include "protocol/http/server.h"

static bool is_usable_id(const char *id)
{
    size_t len = id ? strlen(id) : 0;

    if (len == 0 || len > REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)id[i]) && !strchr("-_.:", id[i]))
            return false;
    }
    return true;
}

static void choose_id(struct exchange *x)
{
    const char *given =
        evhttp_find_header(evhttp_request_get_input_headers(x->request), "X-Request-Id");

    if (is_usable_id(given))
        snprintf(x->id, sizeof(x->id), "%s", given);
    else
        http_next_request_id(x->http, x->id, sizeof(x->id));
}

static void end(struct exchange *x)
{
    struct http *h = x->http;

    list_remove(&x->link);
    free(x);
    http_exchange_ended(h);
}

static void on_sent(struct evhttp_request *request, void *arg)
{
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), NULL, NULL);
    end(arg);
}

/* evhttp frees the request after this. */
static void on_left(struct evhttp_connection *connection, void *arg)
{
    struct exchange *x = arg;

    x->request = NULL;
    if (x->is_replied)
        end(x);
}

struct exchange *exchange_new(struct http *h, struct evhttp_request *request)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x)
        abort();
    x->http = h;
    x->request = request;
    list_append(http_exchanges(h), &x->link);
    choose_id(x);
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_left, x);
    evhttp_request_set_on_complete_cb(request, on_sent, x);
    return x;
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    if (x->request)
        evhttp_add_header(evhttp_request_get_output_headers(x->request), name, value);
}

/* evhttp would send the body to HEAD, too. */
static void add_body(struct evhttp_request *request, struct bytes body)
{
    char length[24];

    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
        evbuffer_add(evhttp_request_get_output_buffer(request), body.at, body.len);
        return;
    }
    snprintf(length, sizeof(length), "%zu", body.len);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", length);
}

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body)
{
    assert(!x->is_replied);
    x->is_replied = true;
    if (!x->request) {
        end(x);
        return;
    }
    exchange_add_header(x, "Content-Type", content_type);
    exchange_add_header(x, "X-Request-Id", x->id);
    add_body(x->request, body);
    evhttp_send_reply(x->request, code, NULL, NULL);
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
    reply_json(x, code,
               json_pack("{s:{s:s, s:s}}", "error", "code", code_word, "message", text));
}
