/* Jobs that were handed to a client whose kernel does not have them yet.
 *
 * A job counts as delivered when the client's kernel has acknowledged the reply that carries it
 * to its last byte, not a moment before: what a client that has left never got goes back, and
 * costs no try. What was acknowledged is delivered, whatever became of the connection. Where
 * the address moved meanwhile the acknowledgement may have gone to the other host: such a job
 * is left open, so that its consumer has some seconds to use the lease before anybody else gets
 * it.
 */
#ifndef DUEQ_PROTOCOL_CONN_HANDED_H
#define DUEQ_PROTOCOL_CONN_HANDED_H

#include "base/list.h"
#include "protocol/conn/connection.h"

struct delivery;
struct queue;

/* Of one connection. */
struct handed {
    struct connection *connection;
    struct queue *queue;
    struct list unacked; /* in the order of their replies */
};

/* Both are borrowed. */
void handed_init(struct handed *h, struct connection *c, struct queue *queue);

/* Sends a reply, as connection_send() does, and takes over the delivery that it carries. */
void handed_send(struct handed *h, struct bytes reply, struct delivery *d);

/* To be called when acked_bytes has grown, and when the connection is closed: nothing is left
 * then. */
void handed_settle(struct handed *h);

#endif
