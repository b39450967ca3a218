/* A port: the listener of a dialect and all clients that came over it, the same for every
 * dialect. A port accepts clients, keeps the limits of connections, follows the virtual
 * address, and stops:
 *
 *   OPEN --port_stop()--> STOPPING --PORT_GRACE_MS--> CLOSING --no client left--> on_stopped
 *
 *   STOPPING  no client is accepted, waiting requests are cancelled, and the dialect refuses
 *             new ones: a request on its way when the node stops still gets an answer
 *   CLOSING   a connection ends once it has nothing in work and its replies are read
 *
 * A connection from a proxy of port_set_proxies() begins with a PROXY header (proxied.h): from
 * then on the client is the one that the header names, for limits, logs and the dialect. A
 * header from anybody else is a request that no dialect understands.
 *
 * A dialect embeds a struct port in its server and a struct port_client in its client.
 *
 * A job counts as delivered when the client's kernel has acknowledged the last byte of its
 * reply (port_send). A job that a lost client never got is returned, and costs no try; an
 * acknowledged one stays delivered, whatever becomes of the connection. Where the address moved
 * meanwhile, the acknowledgement may have gone to the other host: such a job is left open, so
 * that its consumer has some seconds to use the lease before another consumer gets the job.
 */
#ifndef DUEQ_PROTOCOL_CONN_PORT_H
#define DUEQ_PROTOCOL_CONN_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "protocol/conn/connection.h"
#include "protocol/conn/peer.h"
#include "protocol/conn/proxied.h"

/* Accepts clients on a listening socket that somebody else has bound.
 *
 * The warden binds the sockets and keeps them open, so that a client that comes while the
 * worker restarts waits in the kernel's queue and is not refused.
 */

/* Beyond the bytes in flight, the kernel takes at most so many bytes of a connection's output.
 * Without that limit it would take megabytes, uncounted, for a client that reads nothing. The
 * rest is the connection's unread output, which is counted. */
#define LISTENER_UNSENT_BYTES 65536

/* Then the loop serves connections again. */
#define LISTENER_ACCEPTS_PER_TURN 32

struct event;

struct listener {
    const char *name; /* module in the log */
    struct loop *loop;
    int fd;
    struct peer_end from; /* of the client that is being accepted */
    /* `fd` is the callee's now: non-blocking and close-on-exec. */
    void (*on_accept)(struct listener *l, int fd);
    unsigned
        turned_away; /* the owner counts here whom it has closed at once, in this turn: with
                      * a few of these the turn is over, for a flood must not be long */
    struct event *acceptable;
    struct timer timer; /* breaks, when the process has no descriptors left */
    int64_t next_warning_mono_ms;
};

/* Starts. `fd` is the listener's from now on, and made non-blocking. */
void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd));

/* On TCP: without Nagle's delay, and with probes that notice within 10 s that a peer has
 * vanished. For a client that is served. */
void listener_prepare(int fd);

/* Accepts now all that wait, not when the loop turns. */
void listener_accept(struct listener *l);

/* Accepts no more and closes the descriptor; harmless twice. */
void listener_stop(struct listener *l);

struct access;
struct delivery;
struct floating;
struct identity;
struct identity_account;
struct port;
struct port_client;
struct queue;

/* Whether there is room for one more client. */
enum port_admission { PORT_ADMITS, PORT_IS_FULL, PORT_IS_FULL_FOR_ADDRESS };

struct port_ops {
    const char *name; /* "gmq": in logs and metrics */
    /* A client has come: the dialect joins it (port_join), or answers that it is over a limit,
     * closes `fd` and leaves the peer. */
    void (*on_client)(struct port *p, int fd, struct peer *peer, enum port_admission admission);
    void (*cancel_waits)(struct port_client *c); /* its requests wait no longer */
    void (*recheck)(struct port_client *c);      /* see port_recheck(); NULL: nobody waits */
    void (*wind_up)(struct port_client *c);      /* CLOSING */
    void (*drain)(struct port *p); /* takes no job any more (SIGUSR1); NULL: it takes them */
    void (*set_limits)(struct port *p); /* sets those of `kind`, which depend on is_closing */
    void (*free)(struct port *p);       /* after on_stopped */
};

/* Limits of an address, beside that of its connections; 0: none. A client that has no IP
 * address has none. */
struct port_address_limits {
    unsigned connects; /* new connections a second; one more is closed without a word */
    unsigned requests; /* a second */
    size_t bytes;      /* of requests in work */
};

/* The limits of a dialect over TCP, as the configuration has them. */
struct port_limits {
    size_t body_max_bytes; /* of a job; the queue judges it, requests are sized by it */
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    struct port_address_limits of_address;
    unsigned pipelined_max;  /* requests of one connection in work at once; at least 1 */
    size_t output_max_bytes; /* unread replies of one connection */
    /* The time for a request to arrive, from its first byte to its last, and for a reply to be
     * read, twice as long behind other replies. 0: no limit. */
    int64_t request_ms;
    int64_t idle_ms; /* a connection that does nothing for so long is closed; 0: never */
};

/* Each row is a field of port_stats, and a metric. Counters count since the worker's start. */
/* clang-format off */
#define PORT_METRICS(X) \
    X(connections, GAUGE, "dueq_connections", \
      "Clients that are connected.") \
    X(accepted, COUNTER, "dueq_connections_accepted_total", \
      "Clients that were accepted.") \
    X(rejected, COUNTER, "dueq_connections_rejected_total", \
      "Clients that came over limits.connections, connections_per_address or connects_per_address.") \
    X(unproxied, COUNTER, "dueq_proxy_headers_wrong_total", \
      "Connections of a listed proxy whose PROXY header was malformed, missing or late.") \
    X(shed, COUNTER, "dueq_connections_shed_total", \
      "Clients closed because all together left too much unread, or unfinished.") \
    X(unaudited, COUNTER, "dueq_audit_lines_lost_total", \
      "Lines of the audit log that could not be written.") \
    X(requests, COUNTER, "dueq_requests_total", \
      "Requests, well-formed or not.") \
    X(refused, COUNTER, "dueq_requests_refused_total", \
      "Requests that were not understood, not known, too large, or came while the node " \
      "stopped.") \
    X(slowed, COUNTER, "dueq_requests_slowed_total", \
      "Requests over the rate of their address or identity, and without a valid token too often: " \
      "HTTP answers them with 429, gmq and beanstalkd read them later.") \
    X(tokenless, COUNTER, "dueq_requests_without_token_total", \
      "Requests without a token that acted as the identity of their port, such as http.as " \
      "says.") \
    X(handshakes, COUNTER, "dueq_tls_handshakes_total", \
      "Clients that have begun to speak TLS.") \
    X(handshakes_failed, COUNTER, "dueq_tls_handshakes_failed_total", \
      "Clients that could not begin to speak TLS, or spoke plain where TLS is required.") \
    X(certificate_end_s, GAUGE, "dueq_tls_certificate_end_time_seconds", \
      "When the certificate, or one of its chain, ends, in seconds since 1970; 0: the port does " \
      "not speak TLS.")
/* clang-format on */

struct port_stats {
    const char *name; /* as in the ops */
#define X(field, ...) uint64_t field;
    PORT_METRICS(X)
#undef X
};

struct port {
    const struct port_ops *ops;
    struct loop *loop;
    struct queue *queue;
    struct port_stats stats;
    struct connection_kind kind; /* the dialect sets its callbacks before port_init(),
                                  * all but on_acked; and of `tls` what says so there */
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit of its own */
    struct port_address_limits of_address;
    struct port_limits limits;   /* of a dialect over TCP, see port_limit() */
    const struct access *access; /* of a dialect with turns, see turns.h, */
    const char *as;              /* likewise */
    bool is_stopping;            /* new requests are refused */
    bool is_closing;

    /* port.c's own */
    struct listener listener;
    struct port_peers peers; /* by address */
    struct proxied proxied;
    struct list clients;
    struct list held;    /* clients whose identity may be on its way, */
    struct list resumed; /* and those that are judged in the next turns */
    struct timer resuming;
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
    struct list unacked; /* replies with jobs, in the order in which they were sent */
    struct identity_account
        *account;       /* of the identity that it acts as; NULL: of none so far */
    struct list held;   /* in one of the port's two, or not */
    bool holds_no_more; /* the client has ended its side */
    bool is_admitted;
};

/* `p` is zeroed. Loop and queue are borrowed for its life. */
void port_init(struct port *p, const struct port_ops *ops, struct loop *loop,
               struct queue *queue);

/* New limits of a dialect over TCP, for all connections from the next request of each on: call
 * before port_open() and at each reload. `request_max_bytes`: of one request. The ops'
 * set_limits is then port_set_limits(), and `in_work_max` may be lowered after the call. */
void port_limit(struct port *p, const struct port_limits *limits, size_t request_max_bytes);
void port_set_limits(struct port *p);

/* How clients speak TLS that come from now on, with what `tls` holds now: call again when
 * either has changed. A handshake may take `limit_ms`. */
void port_set_tls(struct port *p, struct tls *tls, enum tls_mode mode, int64_t limit_ms);

/* The proxies that clients come through from now on: as proxied_set(). */
void port_set_proxies(struct port *p, struct bytes proxies);

/* Serves what connects to `listen_fd` (bound and listening), and owns that from now on. */
void port_open(struct port *p, int listen_fd);

/* Calls back, never from inside, when the last client has gone. */
void port_stop(struct port *p, void (*on_stopped)(void *arg), void *arg);

/* Calls the ops' free; only after on_stopped. NULL is fine. */
void port_free(struct port *p);

/* Ends the common part, for the ops' free. */
void port_fini(struct port *p);

/* Takes `fd` over and reads from the next turn on. A client that is not admitted is not
 * counted.
 */
void port_join(struct port *p, struct port_client *c, int fd, struct peer *peer,
               bool is_admitted);

/* Closes a client that is not admitted. It is told `reply`, which fits into any fresh socket's
 * buffer; one that speaks TLS would not understand a word. */
void port_reject(struct port *p, int fd, struct peer *peer, struct bytes reply);

/* A request has come, or is to be read. False: it is one too many of its address in a second;
 * requests for the node's health are counted by themselves, so that neither takes the place of
 * the other. Or, where it can wait (peer->line): 0, or the ms until it is worth asking again.
 */
bool port_take_request(struct port_client *c, bool is_for_monitors);
int64_t port_await_request(struct port_client *c);

/* May the address have so many bytes more in work, beside `bytes` of now? */
bool port_may_have_bytes(const struct port_client *c, size_t bytes, uint64_t more);

/* The client acts as this identity, from its next request on. False: that one has as many
 * connections as it may, of this and other ports, and nothing has changed. */
bool port_act_as(struct port_client *c, const struct identity *identity);

/* The client's next request, of which nothing is used so far, is of an identity that is not
 * known. True: more of them are on their way, and the client is held. What has come is offered
 * again, and is to be judged then, when
 *   - identities have changed, or will not come: port_recheck(), over several turns;
 *   - the client has ended its side, the port stops or the client's address moves away: then
 *     at once.
 *
 * No timer of the dialect may run against the client meanwhile. */
bool port_hold_for_identities(struct port_client *c, const struct access *access);

/* The client has ended its side. For the dialect's on_end, as the last statement. */
void port_hold_no_more(struct port_client *c);

/* Identities have changed, or more or no more of them are on their way: requests that wait as
 * one that is gone wait no longer, and those that wait for an identity are judged again. */
void port_recheck(struct port *p);

/* Sends a reply, as connection_send() does, and takes over the deliveries that it carries. */
void port_send(struct port_client *c, struct bytes reply, struct delivery *d);
void port_send_with(struct port_client *c, struct bytes reply, struct delivery *const *ds,
                    unsigned count);

/* Call when the connection is closed: no delivery is left then. */
void port_settle(struct port_client *c);

/* Forgets a client that is closed and has nothing in work; its memory is the dialect's. */
void port_leave(struct port_client *c);

/* The calls of floating.h for the port's clients. Clients that wait in the kernel's queue are
 * accepted first, and are told or counted as owed like all others; else they would hear
 * nothing.
 */
void port_follow(struct port *p, const struct floating *floating);
unsigned port_floating(const struct port *p);
bool port_owes(struct port *p);

#endif
