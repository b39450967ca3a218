/* The server as a port: accepting clients, and stopping. client.c has what a client may do;
 * what a request means is the app's matter.
 *
 * A client over a limit is still read for a moment: health and metrics are served, so that a
 * crowded node is not taken for a dead one; any other request is answered with the limit. Such
 * clients are few; when one more comes, the oldest of them is closed. So a client that asks at
 * once is answered, however many silent ones there are.
 */
#include "protocol/http/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define IDLE_DEFAULT_MS  60000
#define KEPT_MAX_BYTES   (64 << 20)  /* of requests still arriving, all together */
#define OUTPUT_MAX_BYTES 65536       /* there is one reply at a time; it may go beyond */
#define UNREAD_MAX_BYTES (256 << 20) /* of unread replies, all together */

static void leave_excess(struct http_client *client)
{
    if (!list_is_linked(&client->excess_link))
        return;
    list_remove(&client->excess_link);
    client->http->excess_count--;
}

void http_client_free(struct http_client *client)
{
    if (client->request)
        http_request_end(client->request);
    leave_excess(client);
    port_leave(&client->base);
    free(client);
}

static void join_excess(struct http *h, struct http_client *client)
{
    while (h->excess_count && h->excess_count >= h->options.excess_max) {
        struct http_client *oldest =
            CONTAINER_OF(list_first(&h->excess), struct http_client, excess_link);

        leave_excess(oldest);
        connection_close(&oldest->base.connection, "it was over a limit, and others came");
    }
    list_append(&h->excess, &client->excess_link);
    h->excess_count++;
}

static void on_client(struct port *p, int fd, struct peer *peer, enum port_admission admission)
{
    static const uint8_t errors[] = {[PORT_IS_FULL] = HTTP_ERROR_FULL,
                                     [PORT_IS_FULL_FOR_ADDRESS] = HTTP_ERROR_FULL_FOR_ADDRESS};
    struct http *h = CONTAINER_OF(p, struct http, port);
    struct http_client *client = calloc(1, sizeof(*client));

    if (!client)
        abort();
    list_init(&client->excess_link);
    if (admission != PORT_ADMITS) {
        client->excess = errors[admission];
        join_excess(h, client);
    }
    http_client_init(client, h, fd, peer);
}

static struct http_client *client_at(struct port_client *c)
{
    return CONTAINER_OF(c, struct http_client, base);
}

static void cancel_waits(struct port_client *c)
{
    http_client_cancel_waits(client_at(c));
}

static void wind_up(struct port_client *c)
{
    http_client_wind_up(client_at(c));
}

static void set_limits(struct port *p)
{
    p->kind.ending_ms = CONTAINER_OF(p, struct http, port)->options.request_ms;
    p->kind.is_draining = p->is_closing;
    p->kind.ending_ack_ms = p->is_closing ? CONNECTION_DRAIN_ACK_MS : p->kind.ending_ms;
}

static void free_http(struct port *p)
{
    struct http *h = CONTAINER_OF(p, struct http, port);

    port_fini(p);
    buf_fini(&h->reply);
    free(h);
}

static void choose_id_prefix(struct http *h)
{
    unsigned long long random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        abort();
    snprintf(h->id_prefix, sizeof(h->id_prefix), "%016llx", random);
}

struct http *http_new(const struct http_app *app, void *arg, const struct http_options *options,
                      struct loop *loop, struct queue *queue, int listen_fd)
{
    struct http *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->app = app;
    h->arg = arg;
    h->ops = (struct port_ops){
        .name = app->name,
        .on_client = on_client,
        .cancel_waits = cancel_waits,
        .wind_up = wind_up,
        .set_limits = set_limits,
        .free = free_http,
    };
    list_init(&h->excess);
    list_init(&h->arriving);
    choose_id_prefix(h);
    h->port.kind = (struct connection_kind){
        .on_input = http_client_take,
        .on_end = http_client_end,
        .is_busy = http_client_is_busy,
        .on_written = http_client_written,
        .on_closed = http_client_closed,
        .in_work_max = 1,
        .output_max_bytes = OUTPUT_MAX_BYTES,
        .kept_max_bytes = KEPT_MAX_BYTES,
        .unread_max_bytes = UNREAD_MAX_BYTES,
    };
    port_init(&h->port, &h->ops, loop, queue);
    http_reload(&h->port, options);
    port_open(&h->port, listen_fd);
    return h;
}

void http_reload(struct port *p, const struct http_options *options)
{
    struct http *h = CONTAINER_OF(p, struct http, port);

    assert(options->connections_max > 0 && options->excess_max > 0 && options->request_ms > 0);
    h->options = *options;
    p->connections_max = options->connections_max;
    p->connections_per_address = options->connections_per_address;
    p->kind.idle_ms = options->idle_ms ? options->idle_ms : IDLE_DEFAULT_MS;
    set_limits(p);
}

struct port *http_port(struct http *h)
{
    return &h->port;
}

const uint64_t *http_errors(const struct http *h)
{
    return h->errors;
}
