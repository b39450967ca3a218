/* An address that moves between nodes, as a virtual address does, and what becomes of the
 * connections whose own end it is.
 *
 *   HERE      served like all others
 *   LEAVING   let go in order: who asks nothing is closed at once; what waits for something is
 *             answered that there is nothing; all else is closed behind its reply, and so is
 *             who comes from now on, or has come and not asked yet. The close waits until the
 *             client's kernel has acknowledged the reply: when the address is gone, nothing
 *             would be sent again
 *   AWAY      closed at once, and so is who comes: no answer would arrive. The end does, also
 *             where the address has gone already, if the warden had CAP_NET_ADMIN when it began
 *             (listen_outlive_address): the kernel had taken who came in the moment before
 *
 *   HERE --> LEAVING --> AWAY --> HERE, and HERE --> AWAY; LEAVING --> HERE: it stays
 *
 * Connections over other addresses of the node notice nothing.
 */
#ifndef DUEQ_PROTOCOL_CONN_MOVING_H
#define DUEQ_PROTOCOL_CONN_MOVING_H

#include <stdbool.h>

struct connection;
struct connection_kind;
struct sockaddr;

enum moving_state { MOVING_HERE, MOVING_LEAVING, MOVING_AWAY };

/* The node's; all ports share it. */
struct moving {
    bool (*is_it)(void *arg, const struct sockaddr *own); /* asked once, of a new connection */
    void *arg;
    enum moving_state state;
};

/* To begin with, and again whenever `state` has changed. `moving` is borrowed. Where there are
 * many of them, they are told by and by. Who still waits to be accepted (the kind's `listener`)
 * is accepted first, and is one of them. */
void connections_move(struct connection_kind *kind, const struct moving *moving);

/* Over it, and not closed; and is any of them owed a reply? */
unsigned connections_moving(const struct connection_kind *kind);
bool connections_are_owed(struct connection_kind *kind);

/* It gets no more than the replies to what it has sent. */
bool connection_is_leaving(const struct connection *c);

#endif
