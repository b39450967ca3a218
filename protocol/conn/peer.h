/* Who is at the other end of a connection: for people, and what all connections of one address
 * have together.
 *
 * An address is a client as far as a node can tell; of IPv6 a network of 64 bits, because that
 * is what one host commonly has. Behind a proxy all clients are one.
 */
#ifndef DUEQ_PROTOCOL_CONN_PEER_H
#define DUEQ_PROTOCOL_CONN_PEER_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/list.h"

struct connection;

/* "http 127.0.0.1:40712": the protocol and the address. Lives until peer_fini(), which is for
 * whoever frees the connection. */
struct bytes peer_name(struct connection *c);
void peer_fini(struct connection *c);

/* What counts as one address, to be compared byte by byte: of IPv4 it is whole, also where IPv6
 * carries it (::ffff:10.0.0.1); of IPv6 its first 64 bits. All that are not IP are one. */
struct peer_network {
    unsigned char family; /* 4, 6, or 0 */
    unsigned char bits[8];
};

struct sockaddr;

struct peer_network peer_network_of(const struct sockaddr *from);

/* An address that somebody has joined. The counts are the protocol's, zero at first. */
struct peer {
    struct list link; /* in its slot */
    unsigned joined;
    unsigned connections;
    size_t body_bytes[2]; /* HTTP: of bodies, small ones and large ones */
    struct peer_network network;
};

#define PEER_SLOTS 1024

/* The addresses of one protocol's clients. */
struct port_peers {
    struct list slots[PEER_SLOTS];
};

void peers_init(struct port_peers *peers);

/* The one of the connected socket's other end; never NULL. */
struct peer *peers_join(struct port_peers *peers, int fd);

/* The network, byte by byte: the same of all protocols. Lives as long as the peer. */
struct bytes peer_address(const struct peer *peer);

/* Whoever joined; the last one frees it. */
void peer_leave(struct peer *peer);

#endif
