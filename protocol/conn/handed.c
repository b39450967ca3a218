#include "protocol/conn/handed.h"

#include <stdlib.h>

#include "node/queue/queue.h"

struct parcel {
    struct list link;
    uint64_t end; /* of its reply, in sent_bytes */
    struct delivery *delivery;
};

void handed_init(struct handed *h, struct connection *c, struct queue *queue)
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
