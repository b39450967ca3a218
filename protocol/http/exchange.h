/* One request and its reply: what a handler gets, and how it answers.
 *
 * A handler answers exactly once, at once or later, with one of the exchange_reply calls. The
 * exchange, and all that is borrowed from it, is not the handler's any more then.
 *
 * A handler that answers later puts its state into `handler`, and `on_cancel_wait` where it can
 * cut its waiting short. Its client may leave before: the reply then goes nowhere, and the
 * rules stay the same.
 */
#ifndef DUEQ_PROTOCOL_HTTP_EXCHANGE_H
#define DUEQ_PROTOCOL_HTTP_EXCHANGE_H

#include <stdint.h>

#include "base/buf.h"
#include "protocol/http/errors.h"
#include "protocol/http/http.h"
#include "protocol/http/message.h"

struct delivery;

struct exchange {
    struct http *http;
    void *arg;                 /* the app's, of http_new() */
    const struct route *route; /* NULL: it has none */
    struct head head;

    /* Of the path, by the route's names: unescaped, not checked otherwise. The handler's to
     * change, as the body is. {topics} is in `topic`, too: no topic has a ',' in it. */
    struct bytes topic;
    struct bytes id;
    struct bytes query[EXCHANGE_QUERY_MAX]; /* see exchange_query_text() */
    struct bytes body;                      /* all of it; empty: none came */

    void *handler;

    /* Wait no longer: the client has left or ended its side, or the node is stopping. Comes
     * once at most, from the loop; answering in it is fine. NULL: there is no waiting. */
    void (*on_cancel_wait)(struct exchange *x);

    /* Its client is gone for sure, and nobody will read the reply: instead of on_cancel_wait
     * then, for a handler that goes on for one that has only ended its side. */
    void (*on_gone)(struct exchange *x);

    /* exchange.c's own */
    struct buf fields;                   /* the reply's, so far */
    struct delivery *delivery;           /* what the reply carries */
    char request_id[REQUEST_ID_MAX + 1]; /* X-Request-Id: the client's, or ours */
};

/* ---- the query: exchange.c ---- */

/* Only names of the route's own list come, each once; others were refused before. */

/* `at` is NULL: it was not given. Unescaped but for '+', which stands for itself. */
struct bytes exchange_query_text(const struct exchange *x, const char *name);

/* A whole number from `min` to `max`, or `fallback` when it was not given. False: it is none,
 * that was answered, and the exchange is gone. */
bool exchange_query_int(struct exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t fallback, int64_t *out);

/* ---- answering: exchange.c ---- */

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body);
void exchange_reply_json(struct exchange *x, int code, struct bytes json);

/* 204 */
void exchange_reply_nothing(struct exchange *x);

/* {"status": word} */
void exchange_reply_status(struct exchange *x, int code, const char *word);

/* As the app writes it, with the row's text, or a text of its own; what is not UTF-8 in that
 * is replaced. */
void exchange_reply_error(struct exchange *x, enum http_error error);
void exchange_reply_error_text(struct exchange *x, enum http_error error, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

/* And so many were done before. */
void exchange_reply_error_count(struct exchange *x, enum http_error error, const char *text,
                                uint64_t count);

/* As http_error_of() maps it; not for STATUS_OK. */
void exchange_reply_status_error(struct exchange *x, enum status status);

/* ---- before the reply ---- */

/* `name` and `value` are fit for a header. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

/* The reply will carry these jobs: they are told to be delivered when the client's kernel has
 * acknowledged it, and returned when it cannot any more. Takes `d` over. */
void exchange_carry(struct exchange *x, struct delivery *d);

/* The node is stopping: it waits for what it has taken, and takes nothing more. */
bool exchange_is_stopping(const struct exchange *x);

/* Who asks, for people: "http 127.0.0.1:40712". Lives until the reply. */
struct bytes exchange_client(struct exchange *x);

/* Who counts as one client: see peer.h. The same life. */
struct bytes exchange_address(const struct exchange *x);

/* From method and path to handler, by the app's table. Private to http/. */

/* NO_PATH, or METHOD: not this method on this path. The parameters in the path are put into
 * `x`, still escaped. */
enum http_error route_find(struct exchange *x);

/* Of a path that is not there, and not empty: would it be without the '/' at its end? */
bool route_is_there_without_slash(const struct http_app *app, struct bytes path);

/* Adds the methods of a path, as they stand in an Allow header. */
void route_print_allowed(const struct http_app *app, struct bytes path, struct buf *to);

/* Unescapes what is escaped, reads the query, and gives the exchange to its handler; or
 * answers what is wrong, and counts it as refused. */
void route_take(struct exchange *x);

#endif
