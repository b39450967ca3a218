/* The other end of a connection: its name for people, and the counts that all connections of
 * one address share.
 *
 * One address counts as one client; with IPv6, one network of 64 bits, because one host
 * commonly has a whole network. Clients behind a proxy count as one, unless the proxy says
 * whose connection it is (proxy.h).
 */
#ifndef DUEQ_PROTOCOL_CONN_PEER_H
#define DUEQ_PROTOCOL_CONN_PEER_H

#include <netinet/in.h>
#include <stddef.h>

#include "base/allowance.h"
#include "base/bytes.h"
#include "base/list.h"

struct buf;
struct connection;
struct sockaddr;

/* Where a client comes from, as accept() gave it, for a socket that was reset meanwhile knows
 * it no more; or as its proxy says. In every connection, so it is small. */
struct peer_end {
    struct in6_addr address; /* of IPv4 ::ffff:10.0.0.1; `::`: not IP */
    in_port_t port;          /* as in a sockaddr */
};

struct peer_end peer_end_of(const struct sockaddr *from);

/* "127.0.0.1:40712", "[::1]:40712", "unknown" */
void peer_end_print(const struct peer_end *end, struct buf *to);

/* "http 127.0.0.1:40712": the protocol and the address; "socket user 0, pid 4711" of a socket
 * of this machine. Borrowed until peer_fini(), due before the connection is freed. */
struct bytes peer_name(struct connection *c);
void peer_fini(struct connection *c);

/* The part of an address that counts, compared byte by byte: all of IPv4, also inside IPv6
 * (::ffff:10.0.0.1); the first 64 bits of IPv6. All addresses that are not IP are equal. */
struct peer_network {
    unsigned char family; /* 4, 6, or 0 */
    unsigned char bits[8];
};

struct peer_network peer_network_of(const struct peer_end *end);

/* An address that clients have joined. The counts are kept by the protocol, zero at first. A
 * peer without clients is forgotten once its allowances are whole: else a client that connects
 * anew for each request would have no limit. */
struct peer {
    struct list link; /* in its slot */
    struct list idle; /* while nobody has joined it */
    struct port_peers *all;
    unsigned joined;
    unsigned connections;
    size_t body_bytes[2]; /* HTTP: of bodies, small ones and large ones */
    size_t work_bytes;    /* gmq, beanstalkd: of requests in work */
    struct list held;     /* the same: clients that are read no further because of that */
    struct allowance connecting; /* of limits.connects_per_address */
    struct allowance requests;   /* of limits.requests_per_address, */
    struct allowance_line line;  /* the same: those that wait for one; */
    struct allowance monitoring; /* and beside these as many for its health */
    struct peer_network network;
};

#define PEER_SLOTS 1024

/* The addresses of one protocol's clients. */
struct port_peers {
    struct list slots[PEER_SLOTS];
    struct list idle; /* without clients */
};

void peers_init(struct port_peers *peers);
void peers_fini(struct port_peers *peers); /* when all have left */

/* The peer of a client that comes from there, which has joined it; never NULL. */
struct peer *peers_join(struct port_peers *peers, const struct peer_end *end,
                        int64_t now_mono_ms);

/* The network, byte by byte: the same of all protocols. Lives as long as the peer. */
struct bytes peer_address(const struct peer *peer);

/* Undoes one peers_join(). */
void peer_leave(struct peer *peer);

#endif
