/* The life of the server: accepting and its limits, stopping. What a client may do is in
 * client.c, what a request means is the app's matter.
 *
 * A client over a limit is read all the same, for a moment: health and metrics are served, so
 * that a crowd is not taken for a dead node, and all else is told why it is not. Of these there
 * are few; when one more comes, the oldest of them is closed. So whoever asks at once is
 * answered, however many say nothing.
 */
#include "protocol/http/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "protocol/conn/moving.h"
#include "protocol/conn/peer.h"

#define IDLE_DEFAULT_MS  60000
#define KEPT_MAX_BYTES   (64 << 20)  /* of requests that have not arrived, all together */
#define OUTPUT_MAX_BYTES 65536       /* there is one reply at a time; it may go beyond */
#define UNREAD_MAX_BYTES (256 << 20) /* of replies that are not read, all together */
#define GRACE_MS         50          /* what is on its way at a stop still gets its refusal */

static void leave_excess(struct http_client *client)
{
    if (!list_is_linked(&client->excess_link))
        return;
    list_remove(&client->excess_link);
    client->http->excess_count--;
}

void http_client_free(struct http_client *client)
{
    struct http *h = client->http;

    if (client->request)
        http_request_end(client->request);
    list_remove(&client->link);
    if (client->excess) {
        leave_excess(client);
    } else {
        client->peer->connections--;
        h->stats.connections--;
    }
    peer_leave(client->peer);
    peer_fini(&client->connection);
    free(client);
    if (h->is_closing && list_is_empty(&h->clients))
        timer_arm(&h->loop->timers, &h->stopped, 0);
}

static enum http_error why_no_place(const struct http *h, const struct peer *peer)
{
    unsigned most = h->options.connections_per_address;

    if (h->stats.connections >= h->options.connections_max)
        return HTTP_ERROR_CROWDED;
    return most && peer->connections >= most ? HTTP_ERROR_CROWDED_ADDRESS : HTTP_ERROR_NONE;
}

static void join_excess(struct http *h, struct http_client *client)
{
    while (h->excess_count && h->excess_count >= h->options.excess_max) {
        struct http_client *oldest =
            CONTAINER_OF(list_first(&h->excess), struct http_client, excess_link);

        leave_excess(oldest);
        connection_close(&oldest->connection, "it had no place, and others came");
    }
    list_append(&h->excess, &client->excess_link);
    h->excess_count++;
}

static void on_accept(struct listener *l, int fd)
{
    struct http *h = CONTAINER_OF(l, struct http, listener);
    struct http_client *client = calloc(1, sizeof(*client));

    if (!client)
        abort();
    client->peer = peers_join(&h->peers, fd);
    client->excess = (uint8_t)why_no_place(h, client->peer);
    list_init(&client->excess_link);
    if (client->excess) {
        h->stats.rejected++;
        join_excess(h, client);
    } else {
        h->stats.accepted++;
        h->stats.connections++;
        client->peer->connections++;
    }
    http_client_init(client, h, fd);
}

static void on_all_gone(struct timer *timer)
{
    struct http *h = CONTAINER_OF(timer, struct http, stopped);

    h->on_stopped(h->stopped_arg);
}

static void limit_ending(struct http *h)
{
    h->kind.ending_ms = h->options.request_ms;
    h->kind.is_draining = h->is_closing;
    h->kind.ending_ack_ms = h->is_closing ? CONNECTION_DRAIN_ACK_MS : h->kind.ending_ms;
}

static void on_grace_over(struct timer *timer)
{
    struct http *h = CONTAINER_OF(timer, struct http, grace);

    h->is_closing = true;
    limit_ending(h);
    LIST_EACH (link, &h->clients)
        http_client_wind_up(CONTAINER_OF(link, struct http_client, link));
    if (list_is_empty(&h->clients))
        timer_arm(&h->loop->timers, &h->stopped, 0);
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
    h->stats.name = app->name;
    h->loop = loop;
    h->queue = queue;
    peers_init(&h->peers);
    list_init(&h->clients);
    list_init(&h->excess);
    list_init(&h->arriving);
    timer_init(&h->grace, on_grace_over);
    timer_init(&h->stopped, on_all_gone);
    choose_id_prefix(h);
    h->kind = (struct connection_kind){
        .name = app->name,
        .loop = loop,
        .on_input = http_client_take,
        .on_end = http_client_end,
        .read_max = http_client_read_max,
        .is_busy = http_client_is_busy,
        .on_written = http_client_written,
        .on_acked = http_client_acked,
        .on_closed = http_client_closed,
        .in_work_max = 1,
        .output_max_bytes = OUTPUT_MAX_BYTES,
        .kept_max_bytes = KEPT_MAX_BYTES,
        .unread_max_bytes = UNREAD_MAX_BYTES,
        .listener = &h->listener,
        .shed = &h->stats.shed,
    };
    http_reload(h, options);
    listener_init(&h->listener, app->name, loop, listen_fd, on_accept);
    return h;
}

void http_reload(struct http *h, const struct http_options *options)
{
    assert(options->connections_max > 0 && options->excess_max > 0 && options->request_ms > 0);
    h->options = *options;
    h->kind.idle_ms = options->idle_ms ? options->idle_ms : IDLE_DEFAULT_MS;
    limit_ending(h);
}

void http_move(struct http *h, const struct moving *moving)
{
    connections_move(&h->kind, moving);
}

unsigned http_moving(const struct http *h)
{
    return connections_moving(&h->kind);
}

bool http_owes(struct http *h)
{
    return connections_are_owed(&h->kind);
}

void http_stop(struct http *h, void (*on_stopped)(void *arg), void *arg)
{
    assert(!h->is_stopping);
    h->is_stopping = true;
    h->on_stopped = on_stopped;
    h->stopped_arg = arg;
    listener_stop(&h->listener);
    LIST_EACH (link, &h->clients)
        http_client_hurry(CONTAINER_OF(link, struct http_client, link));
    timer_arm(&h->loop->timers, &h->grace, list_is_empty(&h->clients) ? 0 : GRACE_MS);
}

void http_free(struct http *h)
{
    if (!h)
        return;
    assert(list_is_empty(&h->clients));
    listener_stop(&h->listener);
    buf_fini(&h->reply);
    free(h);
}

const struct port_stats *http_stats(const struct http *h)
{
    return &h->stats;
}

const uint64_t *http_errors(const struct http *h)
{
    return h->errors;
}
