#include "protocol/handed.h"

#include <stdlib.h>

#include "node/queue/queue.h"

struct parcel {
    struct list link;
    uint64_t flushed_at; /* the connection's flushed_bytes at which it is */
    struct delivery *delivery;
};

void handed_init(struct handed *h, struct connection *c, struct queue *queue)
{
    h->connection = c;
    h->queue = queue;
    list_init(&h->unflushed);
}

/* True when it is known what became of it. */
static bool settle(struct handed *h, uint64_t flushed_at, struct delivery *d)
{
    if (h->connection->flushed_bytes >= flushed_at)
        queue_delivered(h->queue, d);
    else if (h->connection->state == CONNECTION_CLOSED)
        queue_returned(h->queue, d);
    else
        return false;
    return true;
}

void handed_settle(struct handed *h)
{
    struct list *link;

    while ((link = list_first(&h->unflushed))) {
        struct parcel *p = CONTAINER_OF(link, struct parcel, link);

        if (!settle(h, p->flushed_at, p->delivery))
            return;
        list_remove(&p->link);
        free(p);
    }
}

void handed_send(struct handed *h, struct bytes reply, struct delivery *d)
{
    uint64_t flushed_at = h->connection->sent_bytes + reply.len; /* never, if it is closed */
    struct parcel *p;

    connection_send(h->connection, reply);
    handed_settle(h);
    if (settle(h, flushed_at, d))
        return;
    p = malloc(sizeof(*p));
    if (!p)
        abort();
    *p = (struct parcel){.flushed_at = flushed_at, .delivery = d};
    list_append(&h->unflushed, &p->link);
}
