/* A port: what listens for the clients of a dialect, and all clients that have come over it;
 * the same for every dialect. It accepts, keeps the limits of connections, moves with the
 * virtual address, and stops:
 *
 *   OPEN --port_stop()--> STOPPING --PORT_GRACE_MS--> CLOSING --the last client has gone-->
 * on_stopped
 *
 *   STOPPING  nobody is accepted, what requests wait for is cancelled, and the dialect
 *             refuses new ones: those that are on their way when a node stops are answered
 *   CLOSING   a connection ends as soon as nothing of it is in work and its replies are read
 *
 * A dialect embeds a struct port in its server and a struct port_client in its client.
 */
#ifndef DUEQ_PROTOCOL_CONN_PORT_H
#define DUEQ_PROTOCOL_CONN_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "protocol/conn/connection.h"
#include "protocol/conn/peer.h"

/* Accepts clients on a listening socket that somebody else has bound.
 *
 * The warden binds the sockets and keeps them open, so that a client that comes while the
 * worker restarts waits in the kernel's queue and is not refused.
 */

/* The kernel takes no more of a connection's output beyond what is on its way and so many
 * bytes. Without that limit it would take megabytes for a client that reads nothing, where
 * nobody counts them. What it does not take is the connection's unread output, which is
 * counted. */
#define LISTENER_UNSENT_BYTES 65536

/* Then the connections have their turn. */
#define LISTENER_ACCEPTS_PER_TURN 32

struct event;

struct listener {
    const char *name; /* module in the log */
    struct loop *loop;
    int fd;
    /* `fd` is the callee's now: non-blocking, close-on-exec, and on TCP without Nagle's delay
     * and with probes that notice within 10 s that a peer has vanished. */
    void (*on_accept)(struct listener *l, int fd);
    struct event *acceptable;
    struct timer timer; /* breaks, when the process has no descriptors left */
    int64_t next_warning_mono_ms;
};

/* Starts. `fd` is the listener's from now on, and made non-blocking. */
void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd));

/* Accepts now all that wait, not when the loop turns. */
void listener_accept(struct listener *l);

/* Accepts no more and closes the descriptor; harmless twice. */
void listener_stop(struct listener *l);

/* Jobs that were handed to a client whose kernel does not have them yet.
 *
 * A job counts as delivered when the client's kernel has acknowledged the reply that carries it
 * to its last byte, not a moment before: what a client that has left never got goes back, and
 * costs no try. What was acknowledged is delivered, whatever became of the connection. Where
 * the address moved meanwhile the acknowledgement may have gone to the other host: such a job
 * is left open, so that its consumer has some seconds to use the lease before anybody else gets
 * it.
 */

struct delivery;
struct queue;

/* Of one connection. */
struct handed {
    struct connection *connection;
    struct queue *queue;
    struct list unacked; /* in the order of their replies */
};

/* Sends a reply, as connection_send() does, and takes over the delivery that it carries. */
void handed_send(struct handed *h, struct bytes reply, struct delivery *d);

/* To be called when acked_bytes has grown, and when the connection is closed: nothing is left
 * then. */
void handed_settle(struct handed *h);

struct moving;
struct port;
struct port_client;
struct queue;

/* Whether there is room for one more client. */
enum port_place { PORT_HAS_PLACE, PORT_IS_FULL, PORT_IS_FULL_FOR_ADDRESS };

struct port_ops {
    const char *name; /* "gmq": in logs and metrics */
    /* Somebody has come: the dialect makes a client (port_join), or answers that it has no
     * place, closes `fd` and leaves the peer. */
    void (*on_client)(struct port *p, int fd, struct peer *peer, enum port_place place);
    void (*cancel_waits)(struct port_client *c); /* its requests wait no longer */
    void (*wind_up)(struct port_client *c);      /* CLOSING */
    void (*set_limits)(struct port *p);          /* the kind's, which change with is_closing */
    void (*free)(struct port *p);                /* after on_stopped */
};

/* Since the worker's start. */
struct port_stats {
    const char *name;     /* as in the ops */
    uint64_t connections; /* gauge */
    uint64_t accepted;
    uint64_t rejected; /* clients, over a limit of connections */
    uint64_t shed;     /* closed for the memory they took, see connection.h */
    uint64_t requests; /* well-formed or not */
    uint64_t refused;  /* of these: not understood, not known, too large, or while stopping */
};

struct port {
    const struct port_ops *ops;
    struct loop *loop;
    struct queue *queue;
    struct port_stats stats;
    struct connection_kind kind; /* the dialect fills it in before port_open() */
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    bool is_stopping;                 /* new requests are refused */
    bool is_closing;

    /* port.c's own */
    struct listener listener;
    struct port_peers peers; /* by address */
    struct list clients;
    void (*on_stopped)(void *arg);
    void *stopped_arg;
    struct timer grace;
    struct timer stopped; /* armed when the last client is gone */
};

struct port_client {
    struct connection connection;
    struct port *port;
    struct list link; /* in its clients */
    struct peer *peer;
    struct handed handed;
    bool has_place;
};

/* `p` is zeroed. Loop and queue are borrowed for its life. */
void port_init(struct port *p, const struct port_ops *ops, struct loop *loop,
               struct queue *queue);

/* Serves what connects to `listen_fd` (bound and listening), and owns that from now on. */
void port_open(struct port *p, int listen_fd);

/* Calls back, never from inside, when the last client has gone. */
void port_stop(struct port *p, void (*on_stopped)(void *arg), void *arg);

/* The ops' free, after on_stopped; NULL is fine. */
void port_free(struct port *p);

/* What all dialects free of themselves. */
void port_fini(struct port *p);

/* Takes `fd` over and reads from the next turn on. Of a client without a place nothing counts.
 */
void port_join(struct port *p, struct port_client *c, int fd, struct peer *peer,
               bool has_place);

/* Forgets one that is closed and has nothing in work; its memory is the dialect's. */
void port_leave(struct port_client *c);

/* As connections_move() in moving.h, and the numbers beside it, for its clients. Those that
 * wait to be accepted are accepted before they are closed, or counted as owed: else they would
 * hear nothing. */
void port_move(struct port *p, const struct moving *moving);
unsigned port_moving(const struct port *p);
bool port_owes(struct port *p);

#endif
