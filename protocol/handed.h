/* Jobs that were handed to a client whose kernel does not have them yet.
 *
 * A job counts as delivered when the reply that carries it is flushed, not a moment before:
 * what a client that has left never got goes back, and costs no try. What was flushed is
 * delivered, whatever became of the connection.
 */
#ifndef DUEQ_PROTOCOL_HANDED_H
#define DUEQ_PROTOCOL_HANDED_H

#include "base/list.h"
#include "protocol/connection.h"

struct delivery;
struct queue;

/* Of one connection. */
struct handed {
    struct connection *connection;
    struct queue *queue;
    struct list unflushed; /* in the order of their replies */
};

/* Both are borrowed. */
void handed_init(struct handed *h, struct connection *c, struct queue *queue);

/* Sends a reply, as connection_send() does, and takes over the delivery that it carries. */
void handed_send(struct handed *h, struct bytes reply, struct delivery *d);

/* To be called when flushed_bytes has grown (any connection_send may do that), and when the
 * connection is closed: nothing is left then. */
void handed_settle(struct handed *h);

#endif
