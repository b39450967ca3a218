/* Where Redis is. */
#ifndef DUEQ_NODE_STORE_REDIS_ADDRESS_H
#define DUEQ_NODE_STORE_REDIS_ADDRESS_H

#include "base/status.h"

struct redis_address {
    char host[256]; /* name, numeric address, or path */
    int port;       /* 0: `host` is the path of a unix socket */
};

/* "unix:/path", "host", "host:port", "[v6]:port"; BAD_CONFIG for anything else, and for a path
 * that does not fit into a socket's address. A name is resolved at each connect by the
 * system's resolver, which may block: numeric addresses are better. */
enum status redis_address_parse(const char *text, struct redis_address *address) MUST_CHECK;

#endif
