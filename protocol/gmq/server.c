#include "protocol/gmq/server.h"

#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include "base/log.h"
#include "protocol/gmq/codec.h"

/* A byte of a body takes up to six in JSON (\u0001); the rest is for topic, id and spaces. */
#define FRAME_BYTES(body_bytes) (6 * (body_bytes) + 65536)

static struct gmq_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct gmq_client, base.connection);
}

/* ---- clients ---- */

static void free_if_done(struct gmq_client *client)
{
    if (!client->is_closed || client->base.connection.in_work)
        return;
    port_leave(&client->base);
    free(client);
}

static void wind_up_if_closing(struct gmq_client *client)
{
    if (client->gmq->port.is_closing && client->base.connection.in_work == 0)
        connection_wind_up(&client->base.connection, "the node is stopping");
}

void gmq_client_done(struct gmq_client *client)
{
    connection_done(&client->base.connection);
    wind_up_if_closing(client);
    free_if_done(client);
}

static bool has_room(const struct connection *c)
{
    return c->state == CONNECTION_OPEN && c->in_work < c->kind->in_work_max;
}

/* The time of a request runs from its first byte that is read; behind a full load of requests
 * in work nothing is read. `has_ended`: a request has arrived completely. */
static void watch_arrival(struct gmq_client *client, bool has_ended, bool is_inside)
{
    struct timers *timers = &client->gmq->port.loop->timers;

    if (has_ended || !is_inside)
        timer_disarm(timers, &client->arrival);
    if (is_inside && !timer_is_armed(&client->arrival) &&
        client->gmq->options.limits.request_ms)
        timer_arm(timers, &client->arrival, client->gmq->options.limits.request_ms);
}

static void on_arrival_late(struct timer *timer)
{
    struct gmq_client *client = CONTAINER_OF(timer, struct gmq_client, arrival);

    if (client->base.connection.state == CONNECTION_OPEN)
        gmq_request_give_up(client);
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct gmq_client *client = client_of(c);
    size_t frame_max_bytes = FRAME_BYTES(client->gmq->options.limits.body_max_bytes);
    enum gmq_scan_result result = GMQ_SCAN_FRAME;
    bool has_ended = false;
    size_t used = 0;

    while (used < input.len && has_room(c) && result != GMQ_SCAN_MORE) {
        struct bytes frame;
        size_t n;

        result = gmq_scan_next(&client->scan, bytes_of(input.at + used, input.len - used),
                               frame_max_bytes, &frame, &n);
        used += n;
        has_ended |= result != GMQ_SCAN_MORE;
        if (result == GMQ_SCAN_OVERSIZE)
            gmq_request_skip(client);
        else if (result == GMQ_SCAN_NOT_JSON)
            gmq_request_lose(client);
        else if (result == GMQ_SCAN_FRAME)
            gmq_request_take(client, frame);
    }
    watch_arrival(client, has_ended,
                  result == GMQ_SCAN_MORE && gmq_scan_is_inside(&client->scan) &&
                      c->state == CONNECTION_OPEN);
    return used;
}

static void give_up_waiting(struct gmq_client *client)
{
    gmq_requests_cancel_waits(client);
    gmq_requests_abandon(client);
}

static void on_end(struct connection *c)
{
    give_up_waiting(client_of(c));
}

static void on_acked(struct connection *c)
{
    unacked_settle(&client_of(c)->base.unacked);
}

static void on_closed(struct connection *c)
{
    struct gmq_client *client = client_of(c);

    timer_disarm(&client->gmq->port.loop->timers, &client->arrival);
    give_up_waiting(client);
    unacked_settle(&client->base.unacked);
    client->is_closed = true;
    free_if_done(client);
}

/* ---- accepting ---- */

/* The reply fits into any fresh socket's buffer. Input that has come by now is read, because
 * unread input would turn the close into a reset. */
static void turn_away(struct gmq *g, int fd, enum port_place place)
{
    static const char *const why[] = {
        [PORT_IS_FULL] = "too_many: too many connections (limits.connections); try again later",
        [PORT_IS_FULL_FOR_ADDRESS] = "too_many: too many connections from one address "
                                     "(limits.connections_per_address); try again later",
    };
    char unread[4096];

    gmq_reply_error(&g->reply, BYTES("null"), why[place]);
    (void)send(fd, g->reply.at, g->reply.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_clear(&g->reply);
    (void)recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
    close(fd);
}

static void on_client(struct port *p, int fd, struct peer *peer, enum port_place place)
{
    struct gmq *g = CONTAINER_OF(p, struct gmq, port);
    struct gmq_client *client;

    if (place != PORT_HAS_PLACE) {
        peer_leave(peer);
        turn_away(g, fd, place);
        return;
    }
    client = calloc(1, sizeof(*client));
    if (!client)
        abort();
    client->gmq = g;
    timer_init(&client->arrival, on_arrival_late);
    list_init(&client->waiting);
    list_init(&client->pushes);
    port_join(p, &client->base, fd, peer, true);
    LOG_DEBUG("gmq", "connection %llu: accepted",
              (unsigned long long)client->base.connection.number);
}

/* ---- starting and stopping ---- */

static struct gmq_client *client_at(struct port_client *c)
{
    return CONTAINER_OF(c, struct gmq_client, base);
}

static void cancel_waits(struct port_client *c)
{
    gmq_requests_cancel_waits(client_at(c));
}

static void wind_up(struct port_client *c)
{
    wind_up_if_closing(client_at(c));
}

static void free_gmq(struct port *p)
{
    struct gmq *g = CONTAINER_OF(p, struct gmq, port);

    port_fini(p);
    buf_fini(&g->frame);
    buf_fini(&g->reply);
    free(g);
}

static const struct port_ops ops = {
    .name = "gmq",
    .on_client = on_client,
    .cancel_waits = cancel_waits,
    .wind_up = wind_up,
    .set_limits = port_set_limits,
    .free = free_gmq,
};

struct port *gmq_new(const struct gmq_options *options, struct loop *loop, struct queue *queue,
                     int listen_fd)
{
    struct gmq *g = calloc(1, sizeof(*g));

    if (!g)
        abort();
    g->port.kind = (struct connection_kind){
        .on_input = on_input,
        .on_end = on_end,
        .on_acked = on_acked,
        .on_closed = on_closed,
    };
    port_init(&g->port, &ops, loop, queue);
    gmq_reload(&g->port, options);
    port_open(&g->port, listen_fd);
    return &g->port;
}

void gmq_reload(struct port *p, const struct gmq_options *options)
{
    CONTAINER_OF(p, struct gmq, port)->options = *options;
    port_limit(p, &options->limits, FRAME_BYTES(options->limits.body_max_bytes));
}
