#include "protocol/conn/port.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "node/queue/queue.h"
#include "protocol/conn/moving.h"

#define PORT_GRACE_MS 50

#define BREAK_MS   100   /* after EMFILE and the like: else the loop would spin */
#define WARNING_MS 10000 /* between two of its warnings */

/* Refused on other than TCP sockets, which need none of it. */
static void set_tcp_options(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 5},  /* s of silence, */
        {IPPROTO_TCP, TCP_KEEPINTVL, 1}, /* s between probes, */
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   /* unanswered ones */
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, LISTENER_UNSENT_BYTES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 8000}, /* ms that sent bytes stay unacknowledged; it
                                                * overrides the count of probes: 5 + 3 x 1 s */
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
}

static void have_a_break(struct listener *l)
{
    int64_t now_mono_ms = timers_now(&l->loop->timers);

    if (now_mono_ms >= l->next_warning_mono_ms) {
        LOG_WARN(l->name, "cannot accept clients, trying again: %s", strerror(errno));
        l->next_warning_mono_ms = now_mono_ms + WARNING_MS;
    }
    event_del(l->acceptable);
    timer_arm(&l->loop->timers, &l->timer, BREAK_MS);
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct listener, timer)->acceptable, NULL);
}

/* A client that left while it waited is no failure of ours. */
static bool is_clients_fault(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == ENETUNREACH || error == EHOSTUNREACH;
}

/* At most so many. */
static void accept_some(struct listener *l, unsigned most)
{
    for (unsigned i = 0; i < most && l->acceptable; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            set_tcp_options(fd);
            l->on_accept(l, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (!is_clients_fault(errno)) {
            have_a_break(l);
            return;
        }
    }
}

static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct listener *l = arg;

    loop_touch(l->loop);
    accept_some(l, LISTENER_ACCEPTS_PER_TURN);
}

void listener_accept(struct listener *l)
{
    accept_some(l, UINT_MAX);
}

void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd))
{
    *l = (struct listener){.name = name, .loop = loop, .fd = fd, .on_accept = on_accept};
    timer_init(&l->timer, on_break_over);
    evutil_make_socket_nonblocking(fd);
    l->acceptable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_acceptable, l);
    if (!l->acceptable)
        abort();
    event_add(l->acceptable, NULL);
}

void listener_stop(struct listener *l)
{
    if (!l->acceptable)
        return;
    timer_disarm(&l->loop->timers, &l->timer);
    event_free(l->acceptable);
    l->acceptable = NULL;
    close(l->fd);
}

/* ---- handed ---- */

struct parcel {
    struct list link;
    uint64_t end; /* of its reply, in sent_bytes */
    struct delivery *delivery;
};

/* Both are borrowed. */
static void handed_init(struct handed *h, struct connection *c, struct queue *queue)
{
    h->connection = c;
    h->queue = queue;
    list_init(&h->unacked);
}

/* True when it is known what became of it. */
static bool settle(struct handed *h, uint64_t end, struct delivery *d)
{
    if (h->connection->acked_bytes >= end)
        queue_delivered(h->queue, d);
    else if (h->connection->state == CONNECTION_CLOSED && end <= h->connection->astray_bytes)
        queue_left_open(h->queue, d);
    else if (h->connection->state == CONNECTION_CLOSED)
        queue_returned(h->queue, d);
    else
        return false;
    return true;
}

void handed_settle(struct handed *h)
{
    struct list *link;

    while ((link = list_first(&h->unacked))) {
        struct parcel *p = CONTAINER_OF(link, struct parcel, link);

        if (!settle(h, p->end, p->delivery))
            return;
        list_remove(&p->link);
        free(p);
    }
}

void handed_send(struct handed *h, struct bytes reply, struct delivery *d)
{
    uint64_t end = h->connection->sent_bytes + reply.len; /* never, if it is closed */
    struct parcel *p;

    connection_send(h->connection, reply);
    if (settle(h, end, d))
        return;
    p = malloc(sizeof(*p));
    if (!p)
        abort();
    *p = (struct parcel){.end = end, .delivery = d};
    list_append(&h->unacked, &p->link);
    connection_await_ack(h->connection);
}

/* ---- port ---- */

/* ---- clients ---- */

static enum port_place place_for(const struct port *p, const struct peer *peer)
{
    unsigned most = p->connections_per_address;

    if (p->stats.connections >= p->connections_max)
        return PORT_IS_FULL;
    return most && peer->connections >= most ? PORT_IS_FULL_FOR_ADDRESS : PORT_HAS_PLACE;
}

static void on_accept(struct listener *l, int fd)
{
    struct port *p = CONTAINER_OF(l, struct port, listener);
    struct peer *peer = peers_join(&p->peers, fd);
    enum port_place place = place_for(p, peer);

    if (place)
        p->stats.rejected++;
    p->ops->on_client(p, fd, peer, place);
}

void port_join(struct port *p, struct port_client *c, int fd, struct peer *peer, bool has_place)
{
    c->port = p;
    c->peer = peer;
    c->has_place = has_place;
    if (has_place) {
        p->stats.accepted++;
        p->stats.connections++;
        peer->connections++;
    }
    list_append(&p->clients, &c->link);
    connection_init(&c->connection, &p->kind, fd);
    handed_init(&c->handed, &c->connection, p->queue);
}

void port_leave(struct port_client *c)
{
    struct port *p = c->port;

    list_remove(&c->link);
    if (c->has_place) {
        p->stats.connections--;
        c->peer->connections--;
    }
    peer_leave(c->peer);
    peer_fini(&c->connection);
    if (p->is_closing && list_is_empty(&p->clients))
        timer_arm(&p->loop->timers, &p->stopped, 0);
}

/* ---- stopping ---- */

static void on_all_gone(struct timer *timer)
{
    struct port *p = CONTAINER_OF(timer, struct port, stopped);

    p->on_stopped(p->stopped_arg);
}

static void on_grace_over(struct timer *timer)
{
    struct port *p = CONTAINER_OF(timer, struct port, grace);

    p->is_closing = true;
    p->ops->set_limits(p);
    LIST_EACH (link, &p->clients)
        p->ops->wind_up(CONTAINER_OF(link, struct port_client, link));
    if (list_is_empty(&p->clients))
        timer_arm(&p->loop->timers, &p->stopped, 0);
}

void port_stop(struct port *p, void (*on_stopped)(void *arg), void *arg)
{
    assert(!p->is_stopping);
    p->is_stopping = true;
    p->on_stopped = on_stopped;
    p->stopped_arg = arg;
    listener_stop(&p->listener);
    LIST_EACH (link, &p->clients)
        p->ops->cancel_waits(CONTAINER_OF(link, struct port_client, link));
    timer_arm(&p->loop->timers, &p->grace, list_is_empty(&p->clients) ? 0 : PORT_GRACE_MS);
}

/* ---- life ---- */

void port_init(struct port *p, const struct port_ops *ops, struct loop *loop,
               struct queue *queue)
{
    p->ops = ops;
    p->stats.name = ops->name;
    p->loop = loop;
    p->queue = queue;
    peers_init(&p->peers);
    list_init(&p->clients);
    timer_init(&p->grace, on_grace_over);
    timer_init(&p->stopped, on_all_gone);
    p->kind.name = ops->name;
    p->kind.loop = loop;
    p->kind.listener = &p->listener;
    p->kind.shed = &p->stats.shed;
}

void port_open(struct port *p, int listen_fd)
{
    p->ops->set_limits(p);
    listener_init(&p->listener, p->ops->name, p->loop, listen_fd, on_accept);
}

void port_fini(struct port *p)
{
    assert(list_is_empty(&p->clients));
    listener_stop(&p->listener);
}

void port_free(struct port *p)
{
    if (p)
        p->ops->free(p);
}

/* ---- the virtual address ---- */

void port_move(struct port *p, const struct moving *moving)
{
    connections_move(&p->kind, moving);
}

unsigned port_moving(const struct port *p)
{
    return connections_moving(&p->kind);
}

bool port_owes(struct port *p)
{
    return connections_are_owed(&p->kind);
}
