#include "protocol/gmq/server.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include "base/log.h"
#include "protocol/gmq/codec.h"
#include "protocol/conn/moving.h"
#include "protocol/conn/peer.h"

/* Requests that are on their way when the node begins to stop still get their refusal. */
#define GRACE_MS 50

/* Then a client whose connection ends, and that reads nothing, does not get its replies; nor,
 * when the node stops, one that reads slowly. */
#define ENDING_MS 5000

/* A byte of a body takes up to six in JSON (\u0001); the rest is for topic, id and spaces. */
#define FRAME_BYTES(body_bytes) (6 * (body_bytes) + 65536)

/* Memory for requests that have not arrived completely, of all connections. */
#define KEPT_BYTES(body_bytes) (4 * FRAME_BYTES(body_bytes) + (64 << 20))

/* Replies that are not read, all together. */
#define UNREAD_BYTES(output_bytes) (16 * (output_bytes) + (128 << 20))

static struct gmq_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct gmq_client, connection);
}

/* ---- clients ---- */

static void free_if_done(struct gmq_client *client)
{
    struct gmq *g = client->gmq;

    if (!client->is_closed || client->connection.in_work)
        return;
    list_remove(&client->link);
    client->peer->connections--;
    peer_leave(client->peer);
    peer_fini(&client->connection);
    free(client);
    g->stats.connections--;
    if (g->is_closing && list_is_empty(&g->clients))
        timer_arm(&g->loop->timers, &g->stopped, 0);
}

static void wind_up_if_closing(struct gmq_client *client)
{
    if (client->gmq->is_closing && client->connection.in_work == 0)
        connection_wind_up(&client->connection, "the node is stopping");
}

void gmq_client_done(struct gmq_client *client)
{
    connection_done(&client->connection);
    wind_up_if_closing(client);
    free_if_done(client);
}

static bool has_room(const struct connection *c)
{
    return c->state == CONNECTION_OPEN && c->in_work < c->kind->in_work_max;
}

/* A request has its time from its first byte on, as far as it is read: behind others that are
 * in work it waits for them. `has_ended`: one of them has. */
static void watch_arrival(struct gmq_client *client, bool has_ended, bool is_inside)
{
    struct timers *timers = &client->gmq->loop->timers;

    if (has_ended || !is_inside)
        timer_disarm(timers, &client->arrival);
    if (is_inside && !timer_is_armed(&client->arrival) && client->gmq->options.request_ms)
        timer_arm(timers, &client->arrival, client->gmq->options.request_ms);
}

static void on_arrival_late(struct timer *timer)
{
    struct gmq_client *client = CONTAINER_OF(timer, struct gmq_client, arrival);

    if (client->connection.state == CONNECTION_OPEN)
        gmq_request_give_up(client);
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct gmq_client *client = client_of(c);
    size_t frame_max_bytes = FRAME_BYTES(client->gmq->options.body_max_bytes);
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
    gmq_requests_hurry(client);
    gmq_requests_abandon(client);
}

static void on_end(struct connection *c)
{
    give_up_waiting(client_of(c));
}

static void on_acked(struct connection *c)
{
    handed_settle(&client_of(c)->handed);
}

static void on_closed(struct connection *c)
{
    struct gmq_client *client = client_of(c);

    timer_disarm(&client->gmq->loop->timers, &client->arrival);
    give_up_waiting(client);
    handed_settle(&client->handed);
    client->is_closed = true;
    free_if_done(client);
}

/* ---- accepting ---- */

/* The reply fits into any fresh socket's buffer. What the client has sent by now is read,
 * because unread it would turn the close into a reset. */
static void turn_away(struct gmq *g, int fd, const char *why)
{
    char unread[4096];

    g->stats.rejected++;
    gmq_reply_error(&g->reply, BYTES("null"), why);
    (void)send(fd, g->reply.at, g->reply.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_clear(&g->reply);
    (void)recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
    close(fd);
}

/* NULL: there is one. */
static const char *why_no_place(const struct gmq *g, const struct peer *peer)
{
    unsigned most = g->options.connections_per_address;

    if (g->stats.connections >= g->options.connections_max)
        return "too_many: too many connections (limits.connections); try again later";
    if (most && peer->connections >= most)
        return "too_many: too many connections from one address "
               "(limits.connections_per_address); try again later";
    return NULL;
}

static void on_accept(struct listener *l, int fd)
{
    struct gmq *g = CONTAINER_OF(l, struct gmq, listener);
    struct peer *peer = peers_join(&g->peers, fd);
    const char *why = why_no_place(g, peer);
    struct gmq_client *client;

    if (why) {
        peer_leave(peer);
        turn_away(g, fd, why);
        return;
    }
    client = calloc(1, sizeof(*client));
    if (!client)
        abort();
    client->gmq = g;
    client->peer = peer;
    peer->connections++;
    timer_init(&client->arrival, on_arrival_late);
    list_init(&client->waiting);
    list_init(&client->pushes);
    list_append(&g->clients, &client->link);
    g->stats.accepted++;
    g->stats.connections++;
    connection_init(&client->connection, &g->kind, fd);
    handed_init(&client->handed, &client->connection, g->queue);
    LOG_DEBUG("gmq", "connection %llu: accepted",
              (unsigned long long)client->connection.number);
}

/* ---- starting and stopping ---- */

static void on_all_gone(struct timer *timer)
{
    struct gmq *g = CONTAINER_OF(timer, struct gmq, stopped);

    g->on_stopped(g->arg);
}

static void limit_reading(struct gmq *g)
{
    int64_t ms = g->options.request_ms;

    g->kind.reading_ms = g->is_closing && (ms == 0 || ms > ENDING_MS) ? ENDING_MS : ms;
    g->kind.is_draining = g->is_closing;
    g->kind.ending_ack_ms = g->is_closing ? CONNECTION_DRAIN_ACK_MS : ENDING_MS;
}

static void on_grace_over(struct timer *timer)
{
    struct gmq *g = CONTAINER_OF(timer, struct gmq, grace);

    g->is_closing = true;
    limit_reading(g);
    LIST_EACH (link, &g->clients)
        wind_up_if_closing(CONTAINER_OF(link, struct gmq_client, link));
    if (list_is_empty(&g->clients))
        timer_arm(&g->loop->timers, &g->stopped, 0);
}

struct gmq *gmq_new(const struct gmq_options *options, struct loop *loop, struct queue *queue,
                    int listen_fd)
{
    struct gmq *g = calloc(1, sizeof(*g));

    if (!g)
        abort();
    g->stats.name = "gmq";
    g->loop = loop;
    g->queue = queue;
    peers_init(&g->peers);
    list_init(&g->clients);
    timer_init(&g->grace, on_grace_over);
    timer_init(&g->stopped, on_all_gone);
    g->kind = (struct connection_kind){
        .name = "gmq",
        .loop = loop,
        .on_input = on_input,
        .on_end = on_end,
        .on_acked = on_acked,
        .on_closed = on_closed,
        .ending_ms = ENDING_MS,
        .listener = &g->listener,
        .shed = &g->stats.shed,
    };
    gmq_reload(g, options);
    listener_init(&g->listener, "gmq", loop, listen_fd, on_accept);
    return g;
}

void gmq_reload(struct gmq *g, const struct gmq_options *options)
{
    assert(options->pipelined_max > 0);
    g->options = *options;
    g->kind.in_work_max = options->pipelined_max;
    g->kind.output_max_bytes = options->output_max_bytes;
    g->kind.kept_max_bytes = KEPT_BYTES(options->body_max_bytes);
    g->kind.unread_max_bytes = UNREAD_BYTES(options->output_max_bytes);
    g->kind.idle_ms = options->idle_ms;
    limit_reading(g);
}

void gmq_move(struct gmq *g, const struct moving *moving)
{
    connections_move(&g->kind, moving);
}

unsigned gmq_moving(const struct gmq *g)
{
    return connections_moving(&g->kind);
}

bool gmq_owes(struct gmq *g)
{
    return connections_are_owed(&g->kind);
}

void gmq_stop(struct gmq *g, void (*on_stopped)(void *arg), void *arg)
{
    assert(!g->is_stopping);
    g->is_stopping = true;
    g->on_stopped = on_stopped;
    g->arg = arg;
    listener_stop(&g->listener);
    LIST_EACH (link, &g->clients)
        gmq_requests_hurry(CONTAINER_OF(link, struct gmq_client, link));
    timer_arm(&g->loop->timers, &g->grace, list_is_empty(&g->clients) ? 0 : GRACE_MS);
}

void gmq_free(struct gmq *g)
{
    if (!g)
        return;
    assert(list_is_empty(&g->clients));
    listener_stop(&g->listener);
    buf_fini(&g->frame);
    buf_fini(&g->reply);
    free(g);
}

const struct port_stats *gmq_stats(const struct gmq *g)
{
    return &g->stats;
}
