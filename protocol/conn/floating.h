/* A floating address: one that moves between nodes, as a virtual address does; and what becomes
 * of the connections whose own end it is.
 *
 *   HERE      served like all others
 *   DRAINING  an idle connection is closed at once; a request that waits for something is
 *             answered that there is nothing; every other connection, also a new one that has
 *             not asked yet, is closed behind its reply. The close waits until the client's
 *             kernel has acknowledged the reply: once the address is gone, nothing is sent
 *             again
 *   AWAY      closed at once, new connections too: no answer would arrive. The close itself
 *             arrives even where the address has gone already, if the warden had CAP_NET_ADMIN
 *             when it began (listen_outlive_address)
 *
 *   HERE --> DRAINING --> AWAY --> HERE, and HERE --> AWAY; DRAINING --> HERE: it stays
 *
 * Connections over other addresses of the node notice nothing.
 */
#ifndef DUEQ_PROTOCOL_CONN_FLOATING_H
#define DUEQ_PROTOCOL_CONN_FLOATING_H

#include <stdbool.h>

struct connection;
struct connection_kind;
struct sockaddr;

enum floating_state { FLOATING_HERE, FLOATING_DRAINING, FLOATING_AWAY };

/* The node's; all ports share it. */
struct floating {
    bool (*is_it)(void *arg, const struct sockaddr *own); /* asked once, of a new connection */
    void *arg;
    enum floating_state state;
};

/* Call at the beginning, and whenever `state` has changed. `floating` is borrowed. Many
 * connections are told over several turns. */
void connections_follow(struct connection_kind *kind, const struct floating *floating);

/* The number of open connections over the address; and is any of them owed a reply? */
unsigned connections_floating(const struct connection_kind *kind);
bool connections_are_owed(const struct connection_kind *kind);

/* The connection gets only the replies to requests that it has sent already. */
bool connection_is_draining(const struct connection *c);

#endif
