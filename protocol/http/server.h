/* What the files of http/ know of the server and of a client. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_SERVER_H
#define DUEQ_PROTOCOL_HTTP_SERVER_H

#include "base/list.h"
#include "base/loop.h"
#include "protocol/connection.h"
#include "protocol/http/body.h"
#include "protocol/http/exchange.h"
#include "protocol/http/http.h"
#include "protocol/listener.h"

struct route;

struct http {
    struct http_options options;
    struct http_stats stats;
    struct loop *loop;
    struct queue *queue;
    struct listener listener;
    struct connection_kind kind;
    struct list clients;
    unsigned excess;    /* of them: over the limit, there to be told so */
    uint64_t id_prefix; /* of X-Request-Id: random */
    uint64_t ids;
    bool is_stopping; /* new requests are refused */
    bool is_closing;  /* and connections end as soon as they have their replies */
    void (*on_stopped)(void *arg);
    void *arg;
    struct timer grace;   /* until closing, then until the last ones are cut off */
    struct timer stopped; /* armed when the last client is gone */
};

/* Where a client is; client.c has the picture. */
enum http_phase { HTTP_IN_HEAD, HTTP_IN_BODY, HTTP_IN_WORK, HTTP_HELD, HTTP_LEAVING };

/* A connection and its one request. Freed when it is closed and has no handler at work. */
struct http_client {
    struct connection connection;
    struct http *http;
    struct list link; /* in clients */
    enum http_phase phase;
    size_t seen;     /* IN_HEAD: bytes of it looked at */
    struct buf head; /* what the exchange borrows from */
    struct body body;
    enum http_fault fault;     /* of this request, found before its body was there */
    const struct route *route; /* or where it goes */
    struct exchange exchange;
    struct timer timer;
    bool is_excess;
    bool is_waiting; /* for a handler that answers later */
    bool is_closed;
};

/* ---- server.c ---- */

/* Forgets a client and frees it. */
void http_client_free(struct http_client *client);

/* ---- client.c ---- */

/* Of the server's connection_kind. */
size_t http_client_take(struct connection *c, struct bytes input);
void http_client_flushed(struct connection *c);
void http_client_closed(struct connection *c);

/* What is not in work ends. */
void http_client_wind_up(struct http_client *client, const char *reason);

/* `client` is zeroed. */
void http_client_init(struct http_client *client, struct http *h, int fd, bool is_excess);

/* ---- client.c, for exchange.c ---- */

/* May the connection serve another request after this one? */
bool http_client_is_kept(const struct http_client *client);

/* Ends the exchange; the last statement of who calls it. `reply` is emptied. */
void http_client_answer(struct http_client *client, struct buf *reply, bool is_kept);

#endif
