/* The gmq port: gmq's JSON-RPC for its published clients. The contract is doc/gmq.md.
 *
 *   server.c  a client, the bytes that come from it, and its requests: to the queue, and back
 *             as replies
 *   codec.c   where a request ends in the stream, and what it says; pure
 *   reply.c   what is answered; pure
 */
#ifndef DUEQ_PROTOCOL_GMQ_GMQ_H
#define DUEQ_PROTOCOL_GMQ_GMQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/conn/port.h"

struct access;

struct gmq_options {
    bool strict;         /* numbers as strings, and the rest of doc/gmq.md, "Strict mode" */
    int64_t pop_wait_ms; /* a Pop waits so long for a job */
    struct port_limits limits;
    struct access
        *access;    /* borrowed for the server's life; NULL: everybody may do everything */
    const char *as; /* the identity of all clients, "": none; borrowed until gmq_reload */
};

/* Serves what connects to `listen_fd` (bound and listening), and owns it from now on. The
 * options are copied, loop and queue borrowed for its life. Never NULL. */
struct port *gmq_new(const struct gmq_options *options, struct loop *loop, struct queue *queue,
                     int listen_fd);

/* New limits for all connections, from the next request of each on. */
void gmq_reload(struct port *p, const struct gmq_options *options);

#endif
