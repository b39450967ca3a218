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
#include "protocol/conn/handed.h"
#include "protocol/conn/listener.h"
#include "protocol/conn/peer.h"

struct moving;
struct port;
struct port_client;
struct queue;

#define PORT_GRACE_MS 50

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
