/* HTTP/1.1 over a port, ignorant of what is served: that is a `struct http_app`, for example
 * the native API (protocol/api/). doc/decisions/0002 says why the server is our own.
 *
 *   server.c    accepting, the limits of connections, stopping; a connection, and its requests
 *               one after the other
 *   arrival.c   a request on its way in: its head, its body, and the memory of bodies
 *   message.c   first line, headers, where the body ends, escapes, queries; pure
 *   exchange.c  one request and its reply, as handlers see it; from a path to its handler, by
 *               the app's table
 *   jobs.c      what handlers ask of the engine: an operation, a pop
 *   identities.c  the same of the identities in Redis
 *   admit.c     whom a request acts as, and whether that one may
 *   asked.c     what was asked for, for the audit log
 *   errors.c    every error, as the wire says it
 */
#ifndef DUEQ_PROTOCOL_HTTP_HTTP_H
#define DUEQ_PROTOCOL_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "protocol/conn/port.h"
#include "protocol/http/errors.h"

#define HTTP_TOKEN_MAX 512

struct access;
struct audit;
struct exchange;
struct head;

/* The body that a path takes. */
enum route_body {
    ROUTE_NO_BODY,    /* a small one is thrown away */
    ROUTE_SMALL_BODY, /* ROUTE_SMALL_BYTES */
    ROUTE_JOBS_BODY,  /* limits.http_body_bytes */
};

#define ROUTE_SMALL_BYTES  65536
#define EXCHANGE_QUERY_MAX 4

struct route {
    const char *method; /* NULL: any */
    /* A segment may be {topic}, {topics}, {id} or {namespace}, for one that is not empty. */
    struct bytes path;
    void (*handle)(struct exchange *x); /* exchange.h has the rules */
    enum route_body body;
    unsigned what;         /* the app's: for a handler of several paths */
    bool is_for_monitors;  /* served over the limits, too; its query is ignored */
    bool has_secrets;      /* its {id} and its body are not for the audit log */
    unsigned roles;        /* that it is for, any of them (role.h); not 0 */
    const char *operation; /* its name in the API's description; NULL: it is for everybody */
    const char *query[EXCHANGE_QUERY_MAX]; /* the names it knows, up to the first NULL */
};

/* A dialect of HTTP. Static. */
struct http_app {
    const char *name;           /* of its port, in logs and metrics */
    const struct route *routes; /* HEAD goes where GET goes; but see reads_change */
    unsigned route_count;
    /* Adds the body of an error reply, and returns its status code. `message` is the error's
     * own text, or that of the handler that refuses; `count`: so many were done before, or
     * HTTP_ERROR_NO_COUNT. It may read the exchange, which has no route where none was found,
     * and add headers; it must not answer. */
    int (*write_error)(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count);

    /* The rest is for dialects that differ from the native API. */
    const char *content_type; /* of errors and of what exchange_reply_buf() sends; NULL: JSON */
    bool ignores_unknown_query; /* of a name that is given twice, the first one counts */
    bool reads_change; /* a GET may change something: no page of another site may ask, by GET
                        * neither, and HEAD is for monitors' paths only */
    char joint;        /* the topic of a path with {namespace} is NAMESPACE, this, TOPIC; see
                        * exchange_topic() */
    /* A token that stands elsewhere than in Authorization, which is read where this one has
     * none: its `at` is NULL. It may lie in `room`. NULL: there is no such place. */
    struct bytes (*token_of)(const struct head *head, char room[HTTP_TOKEN_MAX]);
};

struct http_options {
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    struct port_address_limits of_address;
    unsigned excess_max;     /* clients over a limit that are read all the same, see server.c */
    int64_t idle_ms;         /* a connection that says nothing for so long is closed; 0: 60 s */
    int64_t request_ms;      /* for a request to arrive, and for a reply to be read */
    size_t body_max_bytes;   /* of a request that brings jobs */
    size_t bodies_max_bytes; /* of all requests together */
    int64_t rate_min;        /* bytes a second of a body, where others need its room; 0: any */
    const char *hosts;  /* as message.h has it; "": see arrival.c; borrowed until http_reload */
    const char *own[2]; /* names of this node beside those; NULL: there is none; as `hosts` */
    struct audit *audit;   /* borrowed for the server's life; NULL: there is none */
    struct access *access; /* the same; NULL: there are no identities */
    const char *as;        /* the identity of requests without a token, "": none; as `hosts` */
    unsigned open_roles;   /* what whoever comes may do while there are no identities */
    /* Whoever could connect is an operator: without a token, everything; from any host. */
    bool is_for_operators;
    uint64_t *errors; /* counts error replies, by enum http_error; servers may share it */
};

struct http;

/* Serves `app` to what connects to `listen_fd` (bound and listening), and owns that from now
 * on. `arg` is for the app's handlers (exchange.h). The options are copied; app, loop and queue
 * are borrowed for its life. Never NULL. */
struct http *http_new(const struct http_app *app, void *arg, const struct http_options *options,
                      struct loop *loop, struct queue *queue, int listen_fd);

/* The server's port, for the calls of port.h; port_free() frees the server. */
struct port *http_port(struct http *h);

/* New limits for all connections of a server's port, from now on. */
void http_reload(struct port *p, const struct http_options *options);

#endif
