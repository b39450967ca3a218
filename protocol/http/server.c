/* The listener and the life of the server; what a request means is in routes.c.
 *
 * evhttp reads and writes; its own limits bound headers, body and idle time. It cannot bound
 * the number of connections, because it does not say when one ends: what bounds it are the
 * idle time and the process's descriptors. Stopping waits for the exchanges, not for
 * connections: an idle one is closed by http_free().
 */
#include "protocol/http/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/log.h"
#include "base/loop.h"
#include "protocol/http/exchange.h"
#include "protocol/http/routes.h"
#include "protocol/http/server.h"

#define HEADERS_MAX_BYTES 16384
#define IDLE_DEFAULT_MS   60000
#define STOP_MAX_MS       2000
#define BREAK_MS          100 /* after EMFILE and the like: else the loop would spin */

struct http {
    struct http_options options;
    struct loop *loop;
    struct queue *queue;
    struct evhttp *evhttp;
    struct evhttp_bound_socket *socket; /* NULL: stopping */
    struct list exchanges;
    uint64_t id_prefix;
    uint64_t ids;
    struct list link; /* on servers */
    struct timer break_timer;
    struct timer stop_timer;
    void (*on_stopped)(void *arg);
    void *stop_arg;
};

static struct list servers = {&servers, &servers};

static void on_request(struct evhttp_request *request, void *arg)
{
    struct http *h = arg;
    struct exchange *x;

    loop_touch(h->loop);
    x = exchange_new(h, request);
    if (h->socket) {
        route(x);
        return;
    }
    exchange_add_header(x, "Connection", "close");
    exchange_reply_error(x, 503, status_word(STATUS_SHUTTING_DOWN),
                         status_text(STATUS_SHUTTING_DOWN));
}

static void on_stop_timer(struct timer *timer)
{
    struct http *h = CONTAINER_OF(timer, struct http, stop_timer);

    if (!list_is_empty(&h->exchanges))
        LOG_WARN("http", "stopping with replies not sent: their clients do not read");
    h->on_stopped(h->stop_arg);
}

/* libevent gives this callback the argument that evhttp has set for another. */
static void on_accept_failed(struct evconnlistener *listener, void *evhttp)
{
    LOG_WARN("http", "cannot accept a client, trying again: %s", strerror(errno));
    LIST_EACH (it, &servers) {
        struct http *h = CONTAINER_OF(it, struct http, link);

        if (h->evhttp != evhttp)
            continue;
        evconnlistener_disable(listener);
        timer_arm(&h->loop->timers, &h->break_timer, BREAK_MS);
    }
}

static void on_break_over(struct timer *timer)
{
    struct http *h = CONTAINER_OF(timer, struct http, break_timer);

    if (h->socket)
        evconnlistener_enable(evhttp_bound_socket_get_listener(h->socket));
}

static struct evhttp *new_evhttp(struct http *h)
{
    struct evhttp *evhttp = evhttp_new(h->loop->base);
    int64_t idle_ms = h->options.idle_ms ? h->options.idle_ms : IDLE_DEFAULT_MS;
    struct timeval idle = {.tv_sec = idle_ms / 1000, .tv_usec = idle_ms % 1000 * 1000};

    if (!evhttp)
        abort();
    evhttp_set_max_headers_size(evhttp, HEADERS_MAX_BYTES);
    evhttp_set_max_body_size(evhttp, (ev_ssize_t)h->options.body_max_bytes);
    evhttp_set_timeout_tv(evhttp, &idle);
    evhttp_set_default_content_type(evhttp, NULL);
    /* All that evhttp knows: our own table refuses with our own error. */
    evhttp_set_allowed_methods(evhttp, UINT16_MAX);
    evhttp_set_gencb(evhttp, on_request, h);
    return evhttp;
}

struct http *http_new(const struct http_options *options, struct loop *loop,
                      struct queue *queue, int listen_fd)
{
    struct http *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->options = *options;
    h->loop = loop;
    h->queue = queue;
    list_append(&servers, &h->link);
    list_init(&h->exchanges);
    timer_init(&h->break_timer, on_break_over);
    timer_init(&h->stop_timer, on_stop_timer);
    if (getrandom(&h->id_prefix, sizeof(h->id_prefix), 0) != sizeof(h->id_prefix))
        abort();
    h->evhttp = new_evhttp(h);
    h->socket = evhttp_accept_socket_with_handle(h->evhttp, listen_fd);
    if (!h->socket)
        abort();
    evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(h->socket), on_accept_failed);
    return h;
}

void http_stop(struct http *h, void (*on_stopped)(void *arg), void *arg)
{
    h->on_stopped = on_stopped;
    h->stop_arg = arg;
    evhttp_del_accept_socket(h->evhttp, h->socket);
    h->socket = NULL;
    timer_arm(&h->loop->timers, &h->stop_timer, list_is_empty(&h->exchanges) ? 0 : STOP_MAX_MS);
}

void http_free(struct http *h)
{
    if (!h)
        return;
    list_remove(&h->link);
    timer_disarm(&h->loop->timers, &h->break_timer);
    timer_disarm(&h->loop->timers, &h->stop_timer);
    evhttp_free(h->evhttp);
    free(h);
}

struct list *http_exchanges(struct http *h)
{
    return &h->exchanges;
}

void http_exchange_ended(struct http *h)
{
    if (timer_is_armed(&h->stop_timer) && list_is_empty(&h->exchanges))
        timer_arm(&h->loop->timers, &h->stop_timer, 0);
}

void http_next_request_id(struct http *h, char *id, size_t room)
{
    snprintf(id, room, "%016llx-%llu", (unsigned long long)h->id_prefix,
             (unsigned long long)++h->ids);
}

const struct http_node *http_node(const struct http *h)
{
    return &h->options.node;
}

struct queue *http_queue(const struct http *h)
{
    return h->queue;
}

const struct loop *http_loop(const struct http *h)
{
    return h->loop;
}
