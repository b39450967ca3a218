/* Who is at the other end of a connection, for people. */
#ifndef DUEQ_PROTOCOL_PEER_H
#define DUEQ_PROTOCOL_PEER_H

#include "base/bytes.h"

struct connection;

/* "http 127.0.0.1:40712": the protocol and the address. Lives until peer_fini(), which is for
 * whoever frees the connection. */
struct bytes peer_name(struct connection *c);
void peer_fini(struct connection *c);

#endif
