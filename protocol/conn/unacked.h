/* The jobs of a connection that are in a reply which the client's kernel has not acknowledged.
 *
 * A job counts as delivered when the client's kernel has acknowledged the last byte of its
 * reply. A job that a lost client never got is returned, and costs no try; an acknowledged one
 * stays delivered, whatever becomes of the connection. Where the address moved meanwhile, the
 * acknowledgement may have gone to the other host: such a job is left open, so that its
 * consumer has some seconds to use the lease before another consumer gets the job.
 */
#ifndef DUEQ_PROTOCOL_CONN_UNACKED_H
#define DUEQ_PROTOCOL_CONN_UNACKED_H

#include "base/bytes.h"
#include "base/list.h"

struct connection;
struct delivery;
struct queue;

/* Of one connection. */
struct unacked {
    struct connection *connection;
    struct queue *queue;
    struct list parcels; /* in the order of their replies */
};

/* Both are borrowed. */
void unacked_init(struct unacked *u, struct connection *c, struct queue *queue);

/* Sends a reply, as connection_send() does, and takes over the delivery that it carries. */
void unacked_send(struct unacked *u, struct bytes reply, struct delivery *d);

/* Call when acked_bytes has grown, and when the connection is closed: no delivery is left then.
 */
void unacked_settle(struct unacked *u);

#endif
