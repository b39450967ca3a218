#include "protocol/peer.h"

#include <stdlib.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "protocol/connection.h"

static void print_address(const struct connection *c, struct buf *to)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";

    if (c->state != CONNECTION_CLOSED)
        getpeername(c->fd, &address.any, &len);
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
