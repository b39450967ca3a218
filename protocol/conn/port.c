#include "protocol/conn/port.h"

#include <assert.h>

#include "protocol/conn/moving.h"

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
