#include "protocol/conn/peer.h"

#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/conn/connection.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union address address_of(int fd)
{
    union address address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);

    if (getpeername(fd, &address.any, &len))
        address.any.sa_family = AF_UNSPEC;
    return address;
}

/* Turns ::ffff:10.0.0.1, as a listener on `::` sees an IPv4 peer, into 10.0.0.1. */
static void unmap(union address *a)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = a->v6.sin6_port};

    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
        return;
    memcpy(&v4.sin_addr, &a->v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
    a->v4 = v4;
}

static void print_address(const struct connection *c, struct buf *to)
{
    union address address = {.any.sa_family = AF_UNSPEC};
    char host[INET6_ADDRSTRLEN] = "";

    if (c->state != CONNECTION_CLOSED)
        address = address_of(c->fd);
    unmap(&address);
    if (address.any.sa_family == AF_INET &&
        inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host)))
        buf_printf(to, "%s:%u", host, (unsigned)ntohs(address.v4.sin_port));
    else if (address.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host)))
        buf_printf(to, "[%s]:%u", host, (unsigned)ntohs(address.v6.sin6_port));
    else
        buf_add_text(to, "unknown");
}

/* Made when first asked for, which most connections never are. */
struct bytes peer_name(struct connection *c)
{
    struct buf name = BUF_INIT;

    if (!c->peer) {
        buf_printf(&name, "%s ", c->kind->name);
        print_address(c, &name);
        c->peer = must(strdup(buf_text(&name)));
        buf_fini(&name);
    }
    return bytes_of_text(c->peer);
}

void peer_fini(struct connection *c)
{
    free(c->peer);
    c->peer = NULL;
}

/* ---- addresses ---- */

void peers_init(struct port_peers *peers)
{
    for (unsigned i = 0; i < PEER_SLOTS; i++)
        list_init(&peers->slots[i]);
}

struct peer_network peer_network_of(const struct sockaddr *from)
{
    struct peer_network network = {.family = 0};
    union address address = {.any.sa_family = AF_UNSPEC};

    if (from->sa_family == AF_INET)
        memcpy(&address, from, sizeof(address.v4));
    else if (from->sa_family == AF_INET6)
        memcpy(&address, from, sizeof(address.v6));
    unmap(&address);
    if (address.any.sa_family == AF_INET) {
        network.family = 4;
        memcpy(network.bits, &address.v4.sin_addr, sizeof(address.v4.sin_addr));
    } else if (address.any.sa_family == AF_INET6) {
        network.family = 6;
        memcpy(network.bits, &address.v6.sin6_addr, sizeof(network.bits));
    }
    return network;
}

/* FNV-1a. No seed: an attacker with many addresses to choose from has better ways to do harm.
 */
static unsigned slot_of(const struct peer_network *network)
{
    uint32_t hash = 2166136261;

    for (unsigned i = 0; i < sizeof(network->bits); i++)
        hash = (hash ^ network->bits[i]) * 16777619;
    return hash % PEER_SLOTS;
}

struct peer *peers_join(struct port_peers *peers, int fd)
{
    union address address = address_of(fd);
    struct peer_network network = peer_network_of(&address.any);
    struct list *slot = &peers->slots[slot_of(&network)];
    struct peer *peer;

    LIST_EACH (link, slot) {
        peer = CONTAINER_OF(link, struct peer, link);
        if (memcmp(&peer->network, &network, sizeof(network)) == 0) {
            peer->joined++;
            return peer;
        }
    }
    peer = must(calloc(1, sizeof(*peer)));
    peer->joined = 1;
    peer->network = network;
    list_append(slot, &peer->link);
    return peer;
}

struct bytes peer_address(const struct peer *peer)
{
    return bytes_of((const char *)&peer->network, sizeof(peer->network));
}

void peer_leave(struct peer *peer)
{
    if (--peer->joined)
        return;
    list_remove(&peer->link);
    free(peer);
}
