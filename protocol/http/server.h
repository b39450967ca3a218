/* What the files of http/ know of the server, a client and its request. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_SERVER_H
#define DUEQ_PROTOCOL_HTTP_SERVER_H

#include <time.h>

#include "base/list.h"
#include "base/loop.h"
#include "protocol/conn/port.h"
#include "protocol/http/message.h"
#include "protocol/http/exchange.h"
#include "protocol/http/http.h"

struct http {
    struct port port;
    struct port_ops ops; /* with the app's name */
    const struct http_app *app;
    void *arg; /* the app's */
    struct http_options options;
    struct list excess;    /* clients over a limit, the oldest first */
    unsigned excess_count; /* of these */
    struct buf reply;      /* the one being written */
    size_t body_bytes[2];  /* memory of the bodies of all requests, by is_large */
    struct list arriving;  /* requests whose body is on its way, the oldest first */
    char id_prefix[17];    /* of X-Request-Id: random */
    uint64_t ids;
    time_t date_s; /* of `date`, the header's line */
    char date[48];
};

/* Where a client is; server.c has the picture. */
enum http_phase {
    HTTP_IN_HEAD,
    HTTP_IN_BODY,
    HTTP_IN_WORK,
    HTTP_HELD,
    HTTP_LEAVING,
    HTTP_LAST_REPLY
};

/* From a complete head, or what was wrong with it, to the reply. */
struct http_request {
    struct exchange exchange;
    struct http_client *client;
    enum http_error error; /* found before its body was there; NONE: it goes to a route */
    struct body body;
    struct buf content;   /* of the body, where somebody wants it */
    struct list arriving; /* in the server's, while its body is on its way */
    struct asked *asked;  /* for the audit log; NULL: it has no line */
    bool is_large;        /* the body counts in the budget of large ones */
    bool was_slow;        /* the body, in the last window; see arrival.c */
    int64_t last_mono_ms; /* when some of the body came */
    int64_t window_mono_ms;
    size_t window_bytes; /* of content, when the window began */
    char head[];         /* the exchange borrows from it */
};

/* A connection. Freed when it is closed and has no handler at work. Most of them are idle:
 * what only a request needs is in the request. */
struct http_client {
    struct port_client base;
    struct http *http;
    struct list excess_link;      /* in excess, or not */
    struct http_request *request; /* or NULL: IN_HEAD, and from HELD on */
    struct timer timer;
    uint16_t seen; /* IN_HEAD: bytes of it looked at */
    uint8_t phase; /* enum http_phase */
    /* enum http_error: the limit that the client is over; only health and metrics are served to
     * it. NONE: it is admitted. */
    uint8_t excess;
    bool is_waiting; /* for a handler that answers later */
    bool is_slowed;  /* behind the reply nothing is read for a while */
    bool is_closed;
};

/* ---- server.c ---- */

/* `head`, or nothing where none has come, is copied. */
struct http_request *http_request_begin(struct http_client *client, struct bytes head);

/* Gives the request to its route, or answers with an error. */
void http_request_work(struct http_request *r);

/* Answers in the handler's place. */
void http_request_refuse(struct http_request *r, enum http_error error);

/* May the connection serve another request after this one? */
bool http_request_is_kept(const struct http_request *r);

/* Sends the server's `reply` and `rest` behind it, and ends the request: must be the caller's
 * last statement. */
void http_request_answer(struct http_request *r, struct bytes rest);

/* ---- arrival.c: input; both return how much of it was used ---- */

size_t http_take_head(struct http_client *client, struct bytes input);
size_t http_take_body(struct http_client *client, struct bytes input);

/* The body is no longer on its way; its memory is no longer needed. */
void http_body_arrived(struct http_request *r);
void http_body_release(struct http_request *r);

#endif
