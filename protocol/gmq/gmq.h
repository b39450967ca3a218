/* The gmq port: gmq's JSON-RPC for its published clients. The contract is doc/gmq.md.
 *
 *   server.c   accepts clients, limits, stopping
 *   request.c  one request: from its bytes to the queue, and back as a reply
 *   codec.c     where a request ends in the stream    (pure, as all that follow)
 *   call.c     what it says; codec.c helps
 *   codec.c    what is answered
 */
#ifndef DUEQ_PROTOCOL_GMQ_GMQ_H
#define DUEQ_PROTOCOL_GMQ_GMQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/conn/port_stats.h"

struct gmq;
struct loop;
struct moving;
struct queue;

struct gmq_options {
    bool strict;           /* numbers as strings, and the rest of doc/gmq.md, "Strict mode" */
    int64_t pop_wait_ms;   /* a Pop waits so long for a job */
    size_t body_max_bytes; /* of a job; the queue judges it, requests are sized by it */
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    unsigned pipelined_max;  /* requests of one connection in work at once; at least 1 */
    size_t output_max_bytes; /* unread replies of one connection */
    /* For a request to arrive, from its first byte to its last; and for a reply to be read,
     * twice as long behind others. 0: no limit. */
    int64_t request_ms;
    int64_t idle_ms; /* a connection that does nothing for so long is closed; 0: never */
};

/* Serves what connects to `listen_fd` (bound and listening), and owns it from now on. The
 * options are copied, loop and queue borrowed for its life. Never NULL. */
struct gmq *gmq_new(const struct gmq_options *options, struct loop *loop, struct queue *queue,
                    int listen_fd);

/* New limits for all connections, from the next request of each on. */
void gmq_reload(struct gmq *g, const struct gmq_options *options);

/* As connections_move() in protocol/conn/moving.h, and the numbers beside it, for its clients.
 * Those that wait to be accepted are accepted before they are closed, or counted as owed: else
 * they would hear nothing. */
void gmq_move(struct gmq *g, const struct moving *moving);
unsigned gmq_moving(const struct gmq *g);
bool gmq_owes(struct gmq *g);

/* Accepts no more, ends the waiting of Pops, refuses new requests on open connections, lets
 * those in work finish, and calls back, never from inside, when the last connection is gone. */
void gmq_stop(struct gmq *g, void (*on_stopped)(void *arg), void *arg);

/* After on_stopped, or when nothing of the queue can call back any more; NULL is fine. */
void gmq_free(struct gmq *g);

const struct port_stats *gmq_stats(const struct gmq *g);

#endif
