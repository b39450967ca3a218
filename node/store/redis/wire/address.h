/* Where Redis is, and the way there. */
#ifndef DUEQ_NODE_STORE_REDIS_ADDRESS_H
#define DUEQ_NODE_STORE_REDIS_ADDRESS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

#define REDIS_PORT 6379 /* where none is said */

struct redis_address {
    char host[256]; /* name, numeric address, or path */
    int port;       /* 0: `host` is the path of a unix socket */
};

/* "unix:/path", "host", "host:port", "[v6]:port"; BAD_CONFIG for anything else, and for a path
 * that does not fit into a socket's address. */
enum status redis_address_parse(const char *text, struct redis_address *address) MUST_CHECK;

/* Some of them, with commas between; at most `max`. `list` may be written to in any case. */
enum status redis_address_parse_list(const char *text, int port, struct redis_address *list,
                                     unsigned max, unsigned *count) MUST_CHECK;

/* An address from a Sentinel or a Redis; BAD_CONFIG where it is no host, or not printable. */
enum status redis_address_set(struct redis_address *address, struct bytes host,
                              long port) MUST_CHECK;

bool redis_address_equal(const struct redis_address *a, const struct redis_address *b);

#define REDIS_ADDRESS_CHARS 272 /* "unix:" or "[", "]:65535" and the end included */

/* In the form that is parsed, with its port. "" where the host is "". */
void redis_address_print(const struct redis_address *address, char text[REDIS_ADDRESS_CHARS]);

/* Begins to connect, to a path or a numeric address. The socket, which does not block and is
 * the caller's; -1: errno says why not. */
int redis_address_connect(const struct redis_address *address);

#endif
