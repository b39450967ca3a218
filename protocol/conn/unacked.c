#include "protocol/conn/unacked.h"

#include <stdlib.h>

#include "node/queue/queue.h"
#include "protocol/conn/connection.h"

struct parcel {
    struct list link;
    uint64_t end; /* of its reply, in sent_bytes */
    struct delivery *delivery;
};

void unacked_init(struct unacked *u, struct connection *c, struct queue *queue)
{
    u->connection = c;
    u->queue = queue;
    list_init(&u->parcels);
}

/* True when the delivery's fate is known, and was told. */
static bool settle(struct unacked *u, uint64_t end, struct delivery *d)
{
    if (u->connection->acked_bytes >= end)
        queue_delivered(u->queue, d);
    else if (u->connection->state == CONNECTION_CLOSED && end <= u->connection->astray_bytes)
        queue_left_open(u->queue, d);
    else if (u->connection->state == CONNECTION_CLOSED)
        queue_returned(u->queue, d);
    else
        return false;
    return true;
}

void unacked_settle(struct unacked *u)
{
    struct list *link;

    while ((link = list_first(&u->parcels))) {
        struct parcel *p = CONTAINER_OF(link, struct parcel, link);

        if (!settle(u, p->end, p->delivery))
            return;
        list_remove(&p->link);
        free(p);
    }
}

void unacked_send(struct unacked *u, struct bytes reply, struct delivery *d)
{
    uint64_t end = u->connection->sent_bytes + reply.len; /* never, if it is closed */
    struct parcel *p;

    connection_send(u->connection, reply);
    if (settle(u, end, d))
        return;
    p = malloc(sizeof(*p));
    if (!p)
        abort();
    *p = (struct parcel){.end = end, .delivery = d};
    list_append(&u->parcels, &p->link);
    connection_await_ack(u->connection);
}
