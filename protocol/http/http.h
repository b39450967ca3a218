/* The HTTP port: the native API, health for load balancers, metrics for Prometheus. The
 * contract is doc/http.md, why it has a server of its own doc/decisions/0002.
 *
 *   server.c          accepting, the limit of connections, stopping
 *   client.c          a connection, one request after the other
 *   client.c         a request on its way in
 *   request.c         and to its answer
 *   message.c            a request's first line and headers  (pure, as the next four)
 *   message.c            where its body ends
 *   message.c            by which names the node may be called
 *   message.c             escapes and queries
 *   errors.c          everything that can be wrong, as the wire says it
 *   routes.c          the table of paths: to add one, a line there and a handler
 *   exchange.c        one request and its reply, as handlers see it
 *   exchange.c  its query
 *   api_*.c           /v1/...: jobs
 *   api_cluster.c     /v1/cluster: who leads; cluster*.[ch] what it says of that
 *   status.c          /v1/status; store*.[ch] what it says of the store
 *   status.c         /v1/openapi.yaml
 *   health.c          /health/...
 *   metrics*.c        /metrics
 *
 * It knows the queue; what else the node has to tell comes through the callbacks of `struct
 * http_node`.
 */
#ifndef DUEQ_PROTOCOL_HTTP_HTTP_H
#define DUEQ_PROTOCOL_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/http/cluster.h"
#include "protocol/http/errors.h"
#include "protocol/http/store.h"

struct loop;
struct moving;
struct queue;

#define HTTP_PROTOCOLS_MAX 8

/* A port. Counters count since the worker's start. */
struct http_protocol_numbers {
    const char *name;     /* static */
    uint64_t connections; /* gauge */
    uint64_t accepted;
    uint64_t turned_away; /* clients over a limit */
    uint64_t crowded_out; /* closed for the memory they took, see connection.h */
    uint64_t requests;
    uint64_t refused; /* of these: not understood, not known, too large, or while stopping */
};

/* What the rest of the node tells. Each may be NULL; called from requests, in the loop. */
struct http_node {
    const char *name; /* this node's, UTF-8; borrowed */
    /* NULL: ready. Else why not: UTF-8, for people, borrowed until the loop turns. */
    const char *(*why_not_ready)(void *arg);
    /* `numbers` comes zeroed; what it points to is borrowed until the loop turns. */
    void (*read_store)(void *arg, struct http_store_numbers *numbers);
    /* `numbers` has room for HTTP_PROTOCOLS_MAX; returns how many there are. */
    unsigned (*read_protocols)(void *arg, struct http_protocol_numbers *numbers);
    const struct http_cluster *cluster; /* borrowed; NULL: there is none */
    void *arg;
};

struct http_options {
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    unsigned excess_max;     /* clients over a limit that are read all the same, see server.c */
    int64_t idle_ms;         /* a connection that says nothing for so long is closed; 0: 60 s */
    int64_t request_ms;      /* for a request to arrive, and for a reply to be read */
    size_t body_max_bytes;   /* of a request that brings jobs */
    size_t bodies_max_bytes; /* of all requests together */
    int64_t rate_min;        /* bytes a second of a body, where others need its room; 0: any */
    unsigned metrics_topics; /* that have series of their own; 0: none */
    const char *hosts;       /* as message.h has it; borrowed until http_reload */
    struct http_node node;
};

/* Counters since start. */
struct http_stats {
    uint64_t connections; /* gauge */
    uint64_t accepted;
    uint64_t turned_away; /* clients, over connections_max or their address's limit */
    uint64_t crowded_out; /* see connection.h */
    uint64_t requests;    /* well-formed or not */
    uint64_t refused;     /* of these: by the server itself, before any handler had them */
    uint64_t errors[HTTP_ERROR_COUNT]; /* replies, by what was wrong */
};

struct http;

/* Serves what connects to `listen_fd` (bound and listening), and owns it from now on. The
 * options are copied, loop and queue borrowed for its life. Never NULL. */
struct http *http_new(const struct http_options *options, struct loop *loop,
                      struct queue *queue, int listen_fd);

/* New limits for all connections, from now on; the node's callbacks stay as they are. */
void http_reload(struct http *h, const struct http_options *options);

/* As connections_move() in protocol/conn/moving.h, and the numbers beside it, for its clients.
 * Those that wait to be accepted are accepted before they are closed, or counted as owed: else
 * they would hear nothing. */
void http_move(struct http *h, const struct moving *moving);
unsigned http_moving(const struct http *h);
bool http_owes(struct http *h);

/* Accepts no more, answers new requests on open connections with 503, lets those in work
 * finish however long that takes (the queue answers them all), and calls back, never from
 * inside, when the last connection is gone. A client has two seconds to read its reply. */
void http_stop(struct http *h, void (*on_stopped)(void *arg), void *arg);

/* After on_stopped; NULL is fine. */
void http_free(struct http *h);

const struct http_stats *http_stats(const struct http *h);

#endif
