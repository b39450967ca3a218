#include "protocol/peer.h"

#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/connection.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* What a listener on `::` takes for ::ffff:10.0.0.1 is 10.0.0.1. */
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
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";

    if (c->state != CONNECTION_CLOSED)
        getpeername(c->fd, &address.any, &len);
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

/* Most never ask. */
struct bytes peer_name(struct connection *c)
{
    struct buf name = BUF_INIT;

    if (!c->peer) {
        buf_printf(&name, "%s ", c->kind->name);
        print_address(c, &name);
        c->peer = strdup(buf_text(&name));
        if (!c->peer)
            abort();
        buf_fini(&name);
    }
    return bytes_of_text(c->peer);
}

void peer_fini(struct connection *c)
{
    free(c->peer);
    c->peer = NULL;
}
