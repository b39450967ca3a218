#include "protocol/conn/peer.h"

#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/conn/connection.h"

struct peer_end peer_end_of(const struct sockaddr *from)
{
    struct peer_end end = {.port = 0};
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;

    if (from->sa_family == AF_INET) {
        memcpy(&v4, from, sizeof(v4));
        end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
        memcpy(&end.address.s6_addr[12], &v4.sin_addr, sizeof(v4.sin_addr));
        end.port = v4.sin_port;
    } else if (from->sa_family == AF_INET6) {
        memcpy(&v6, from, sizeof(v6));
        end = (struct peer_end){.address = v6.sin6_addr, .port = v6.sin6_port};
    }
    return end;
}

/* Of a socket of this machine the kernel knows who has connected. */
static void print_local(int fd, struct buf *to)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0)
        buf_printf(to, "user %u, pid %d", (unsigned)peer.uid, (int)peer.pid);
    else
        buf_add_text(to, "unknown");
}

void peer_end_print(const struct peer_end *end, struct buf *to)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (IN6_IS_ADDR_UNSPECIFIED(&end->address))
        buf_add_text(to, "unknown");
    else if (IN6_IS_ADDR_V4MAPPED(&end->address) &&
             inet_ntop(AF_INET, &end->address.s6_addr[12], host, sizeof(host)))
        buf_printf(to, "%s:%u", host, (unsigned)ntohs(end->port));
    else if (inet_ntop(AF_INET6, &end->address, host, sizeof(host)))
        buf_printf(to, "[%s]:%u", host, (unsigned)ntohs(end->port));
}

/* Made when first asked for, which most connections never are. */
struct bytes peer_name(struct connection *c)
{
    struct buf name = BUF_INIT;

    if (!c->peer) {
        buf_printf(&name, "%s ", c->kind->name);
        if (IN6_IS_ADDR_UNSPECIFIED(&c->end.address))
            print_local(c->fd, &name);
        else
            peer_end_print(&c->end, &name);
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
    list_init(&peers->idle);
}

static void forget(struct peer *peer)
{
    list_remove(&peer->link);
    list_remove(&peer->idle);
    free(peer);
}

void peers_fini(struct port_peers *peers)
{
    struct list *link;

    while ((link = list_first(&peers->idle)))
        forget(CONTAINER_OF(link, struct peer, idle));
}

/* Two at each join, while one at most may come anew: so they do not pile up. */
static void forget_some(struct port_peers *peers, int64_t now_mono_ms)
{
    struct list *link;

    for (unsigned i = 0; i < 2 && (link = list_pop(&peers->idle)); i++) {
        struct peer *peer = CONTAINER_OF(link, struct peer, idle);

        if (allowance_is_whole(&peer->connecting, now_mono_ms) &&
            allowance_is_whole(&peer->requests, now_mono_ms) &&
            allowance_is_whole(&peer->monitoring, now_mono_ms))
            forget(peer);
        else
            list_append(&peers->idle, link);
    }
}

struct peer_network peer_network_of(const struct peer_end *end)
{
    struct peer_network network = {.family = 0};

    if (IN6_IS_ADDR_V4MAPPED(&end->address)) {
        network.family = 4;
        memcpy(network.bits, &end->address.s6_addr[12], sizeof(struct in_addr));
    } else if (!IN6_IS_ADDR_UNSPECIFIED(&end->address)) {
        network.family = 6;
        memcpy(network.bits, &end->address, sizeof(network.bits));
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

struct peer *peers_join(struct port_peers *peers, const struct peer_end *end,
                        int64_t now_mono_ms)
{
    struct peer_network network = peer_network_of(end);
    struct list *slot = &peers->slots[slot_of(&network)];
    struct peer *peer;

    forget_some(peers, now_mono_ms);
    LIST_EACH (link, slot) {
        peer = CONTAINER_OF(link, struct peer, link);
        if (memcmp(&peer->network, &network, sizeof(network)) == 0) {
            peer->joined++;
            list_remove(&peer->idle);
            return peer;
        }
    }
    peer = must(calloc(1, sizeof(*peer)));
    peer->joined = 1;
    peer->network = network;
    peer->all = peers;
    list_init(&peer->idle);
    list_init(&peer->held);
    allowance_line_init(&peer->line);
    list_append(slot, &peer->link);
    return peer;
}

struct bytes peer_address(const struct peer *peer)
{
    return bytes_of((const char *)&peer->network, sizeof(peer->network));
}

void peer_leave(struct peer *peer)
{
    bool was_limited = peer->connecting.whole_mono_ns || peer->requests.whole_mono_ns ||
                       peer->monitoring.whole_mono_ns;

    if (--peer->joined)
        return;
    if (was_limited)
        list_append(&peer->all->idle, &peer->idle);
    else
        forget(peer);
}
