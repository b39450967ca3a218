/* One client's socket, for every protocol that answers requests on it.
 *
 * Input is offered to the protocol as it comes; bytes that the protocol does not use are
 * offered again with more behind them. Output is written at once, one reply in one write; bytes
 * that the kernel does not take wait here. The connection counts the requests in work: it stops
 * reading while there are too many, and a graceful end waits for them.
 *
 *            end of file, or connection_wind_up()
 *   OPEN ------------------------------------------> ENDING
 *     |  no more input; requests in work are answered  |  nothing in work, all written, and
 *     |                                                |  what is awaited acknowledged;
 *     |                                                |  or no progress for ending_ms, or
 *     |                                                |  for ending_ack_ms (all is written)
 *     +--- connection_close(), a lost connection, -----+---> CLOSED --next turn--> on_closed
 *          too much unread output, or for too long; idle for too long
 *
 * Written output lies in this machine's kernel and may never arrive; output is acknowledged
 * when the peer's kernel has it. No event reports an acknowledgement, so the kernel is asked
 * (SIOCOUTQ) while somebody awaits one: when the client sends something (its next request
 * brings the acknowledgement along), at the end, and by a timer for a silent client. After a
 * reset nothing more counts as acknowledged.
 *
 * A client that ends its side may have left or may wait for its last replies; the two look the
 * same. So the client gets its replies, and the connection ends when the client's kernel has
 * acknowledged them; the kernel of a client that has left answers with a reset. The end is
 * noticed even while the connection reads nothing; input from before the end is still served.
 *
 * floating.h is about connections whose own address moves to another node, tls.h about those
 * that speak TLS: their dialect does not notice.
 *
 * Closing requires a reason, a static text; it goes to the log at level debug.
 */
#ifndef DUEQ_PROTOCOL_CONN_CONNECTION_H
#define DUEQ_PROTOCOL_CONN_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "base/buf.h"
#include "protocol/conn/peer.h"
#include "protocol/conn/tls.h"

struct connection;
struct event;
struct floating;
struct tls_session;

#define CONNECTION_ACK_STEPS    6
#define CONNECTION_DRAIN_ACK_MS 100 /* ending_ack_ms while the node stops */
#define CONNECTION_READ_BYTES   65536
#define CONNECTION_NAMES_MAX    8 /* each of them may be looked up at each request */

/* What all connections of a protocol share; the limits may change at any time. Callbacks come
 * from the event loop (on_input also from connection_done), never from connection_send, _close
 * or _wind_up, and each may close its connection. */
struct connection_kind {
    const char *name; /* module in the log */
    struct loop *loop;

    /* Returns how many bytes were used. `input` is not empty, and borrowed for the call. */
    size_t (*on_input)(struct connection *c, struct bytes input);
    /* The client ended its side a moment ago: requests that still wait for something must give
     * up now. Called again when more requests stood behind in_work_max. NULL: no request ever
     * waits. */
    void (*on_end)(struct connection *c);
    /* No input will be taken any more, no request is in work, and the client has all replies
     * that are awaited; it cannot see the end yet, unless it missed some of them. Comes more
     * than once, and also from within connection_wind_up: it must not close the connection.
     * NULL: nobody wants to know. */
    void (*on_finished)(struct connection *c);
    /* A deadline of the protocol's own is running, for a request or a reply: the connection is
     * not idle. NULL: never. */
    bool (*is_busy)(const struct connection *c);
    /* Output that had to wait was written. NULL: nobody wants to know. */
    void (*on_written)(struct connection *c);
    /* `acked_bytes` has grown. */
    void (*on_acked)(struct connection *c);
    /* The last call. The memory is the owner's again. */
    void (*on_closed)(struct connection *c);

    unsigned in_work_max;    /* requests of one connection in work at once */
    size_t output_max_bytes; /* unread output of one connection; one reply may go beyond */
    /* Limits of all connections together: unused input, and unread output. Over a limit, the
     * connections without progress for longest are closed; for input, none that keeps little.
     */
    size_t kept_max_bytes;
    size_t unread_max_bytes;
    uint64_t *shed;        /* counts connections closed so; the owner's */
    int64_t idle_ms;       /* nothing in work and no input for so long: closed; 0: never */
    int64_t ending_ms;     /* the last replies not read any further for so long: closed */
    int64_t ending_ack_ms; /* all written, nothing acknowledged for so long: closed */
    bool is_draining;      /* the node stops: ending_ack_ms counts from the last byte written,
                              whatever is acknowledged meanwhile */
    /* The client must read a reply within so long, or twice as long behind other replies; else
     * the connection is closed. An end in sight restarts the time. 0: no limit. */
    int64_t reading_ms;

    size_t kept_bytes;   /* gauge, of kept_max_bytes */
    size_t unread_bytes; /* gauge, of unread_max_bytes */

    const struct floating *floating; /* see floating.h; NULL: no address moves */
    struct tls_port tls;             /* see tls.h; all zero: nobody speaks TLS */

    /* For the files that private.h names; zero at first */
    unsigned connections; /* gauge */
    struct list kept;     /* connections with unused input; the latest progress is last */
    struct list unread;   /* connections with unread output, in the same order */
    /* Connections that await an acknowledgement, by how often the kernel has been asked; in
     * each list the next one to ask for is first. */
    struct list awaiting[CONNECTION_ACK_STEPS];
    struct timer ack_timer;
    int hangup_fd;        /* an epoll set of the paused connections, */
    struct event *hangup; /* which tells of their ends; NULL: nothing was watched yet */
    struct list movers;   /* connections over the address that moves, */
    struct list untold;   /* and those not yet told of its last move */
    unsigned mover_count; /* in both lists */
    struct timer telling;
};

enum connection_state { CONNECTION_OPEN, CONNECTION_ENDING, CONNECTION_CLOSED };

struct connection {
    struct connection_kind *kind;
    uint64_t number; /* unique in this process */
    enum connection_state state;
    unsigned in_work;     /* requests */
    uint64_t sent_bytes;  /* given to connection_send since the start */
    uint64_t acked_bytes; /* of these: in the client's kernel, as last asked */
    /* Closed while its address moved: unacknowledged bytes up to here may have arrived, with
     * their acknowledgement gone to the other host. */
    uint64_t astray_bytes;
    /* To be read at once at most, so that a busy connection does not keep much unused input.
     * The protocol may set it; at first it is CONNECTION_READ_BYTES, which no read exceeds. */
    size_t read_max_bytes;

    /* For the files that private.h names */
    int fd;
    struct peer_end end;   /* the client's; the port sets it */
    bool is_held;          /* see connection_hold() */
    bool is_paused;        /* reads nothing: it is held, or too many requests are in work */
    bool is_read_disabled; /* paused, and its `readable` is off */
    bool is_watched;       /* in the hangup set: the client may end while nothing is read */
    bool saw_end; /* the client has ended its side; still OPEN: there is input before that */
    bool has_cancelled;
    bool is_lost;      /* it was reset: nothing more is acknowledged */
    bool is_said;      /* connection_end_output() was called, */
    bool is_shut;      /* and the client can see it */
    bool is_undecided; /* its first byte, which has not come, says whether it speaks TLS */
    int64_t refused_mono_ms; /* since then, for it spoke plain where that is no use; else 0 */
    struct tls_session *tls; /* NULL: it does not */
    unsigned crumbs;         /* reads that brought little of a request, see read.c */
    int64_t rest_mono_ms;    /* because of these nothing is read until then; 0: it is read */
    const char *reason;      /* of the end */
    char *peer;              /* peer.c's */
    struct event *readable;
    struct event *writable; /* NULL: it never had to wait */
    struct timer timer;
    int64_t timer_ms;         /* with an end in sight: the next wait */
    int64_t progress_mono_ms; /* last input, byte written or acknowledged, request done */
    int64_t written_mono_ms;  /* last byte written */
    int64_t end_mono_ms;      /* the last input before the end, or ENDING since */
    int64_t due_mono_ms;      /* with output: when what was sent up to due_bytes */
    uint64_t due_bytes;       /* is to be written */
    struct stream input;      /* not used yet */
    struct stream output;     /* not written yet */
    struct list kept;         /* in the kind's `kept`, while there is input */
    struct list unread;       /* in the kind's `unread`, while there is output */
    struct list awaiting;     /* in the kind's `awaiting[ack_step]`, */
    unsigned ack_step;        /* see `awaiting` */
    int64_t ask_mono_ms;      /* when the kernel is to be asked; */
    uint64_t awaited_bytes;   /* while acked_bytes is less than that */
    struct list mover;        /* in the kind's, when its own address is the one that moves */
};

/* Takes the non-blocking `fd` over and reads from the next turn on. */
void connection_init(struct connection *c, struct connection_kind *kind, int fd);

/* Sends one reply: written at once as far as the kernel takes it, the rest copied. Does nothing
 * on a closed connection. */
void connection_send(struct connection *c, struct bytes bytes);

/* Awaits the acknowledgement of all bytes sent so far: on_acked comes when acked_bytes has
 * grown, and the connection does not wind up before acked_bytes has reached the current
 * sent_bytes. */
void connection_await_ack(struct connection *c);

/* Nothing more will be sent: the client sees the end behind the last reply; its input is still
 * taken. */
void connection_end_output(struct connection *c);

/* A request has begun (call within on_input); a request is done (call as the last statement of
 * its answer). */
void connection_begin(struct connection *c);
void connection_done(struct connection *c);

/* Nothing more is read or offered until connection_resume(), which offers what is there: call
 * that from the loop. Until then the connection is not idle, and is not given up while there is
 * input from before its client's end: how long that may last is the holder's to decide. */
void connection_hold(struct connection *c);
void connection_resume(struct connection *c);

/* Takes no more input, and closes when all requests in work are answered and written and
 * awaited output is acknowledged. On a connection that ends already, the current limits hold
 * from now on. */
void connection_wind_up(struct connection *c, const char *reason);

/* The names in the client's certificate, which was verified: its subject alternative names of
 * type DNS, in lower case, and URI, as "DNS:shop.example.com", each with a '\n' behind. Empty:
 * it has shown none. Names that an identity cannot have are left out (identity.h), and those
 * behind the first CONNECTION_NAMES_MAX. Lives as long as the connection is not closed. */
struct bytes connection_names(struct connection *c);

/* Closes the descriptor at once; nothing more is sent. acked_bytes counts what is acknowledged
 * by now. on_closed comes in the next turn. */
void connection_close(struct connection *c, const char *reason);

#endif
