/* One client's socket, for every protocol that answers requests on it.
 *
 * Input is offered as it came, and what the protocol does not use is offered again with more
 * behind it. Output is written at once, one reply in one write; what the kernel does not take
 * waits here. The connection counts the requests in work: it reads no further while there are
 * too many, and an orderly end waits for them.
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
 * What is written lies in this machine's kernel and may never arrive. It is acknowledged when
 * the peer's kernel has it. No event tells of that, so the kernel is asked (SIOCOUTQ), for a
 * reply that somebody awaits: whenever the client sends something, because its next request
 * brings the acknowledgement along; at the end; and by a timer, for one that is silent. Of a
 * connection that was reset nothing more is acknowledged.
 *
 * A client that ends its side may have left, or may wait for its last replies: the two look
 * the same. So it gets its replies, and the connection ends when its kernel has acknowledged
 * them: one that has left answers with a reset instead. That it has ended is noticed while the
 * connection reads nothing, too; what it sent before is still served.
 *
 * Of a connection whose own end is an address that moves to another node, see moving.h.
 *
 * Closing requires a reason, a static text; it goes to the log at level debug.
 */
#ifndef DUEQ_PROTOCOL_CONN_CONNECTION_H
#define DUEQ_PROTOCOL_CONN_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "protocol/conn/hangup.h"
#include "base/buf.h"

struct connection;
struct listener;
struct moving;

#define CONNECTION_ACK_STEPS    6
#define CONNECTION_DRAIN_ACK_MS 100 /* ending_ack_ms while the node stops */

/* What all connections of a protocol share; the limits may change at any time. Callbacks come
 * from the event loop (on_input also from connection_done), never from connection_send, _close
 * or _wind_up, and each may close its connection. */
struct connection_kind {
    const char *name; /* module in the log */
    struct loop *loop;

    /* Returns how many bytes were used. `input` is not empty, and borrowed for the call. */
    size_t (*on_input)(struct connection *c, struct bytes input);
    /* The input ended a moment ago (long enough for what needs no waiting): requests that
     * wait for something are to give up. Comes again when there were more behind the limit of
     * requests in work. NULL: none ever waits. */
    void (*on_end)(struct connection *c);
    /* How many bytes to read at once at most: who has enough to do, with these to follow, is
     * not to keep much of it. NULL: 64 KiB. */
    size_t (*read_max)(const struct connection *c);
    /* Within a request that the protocol itself has set a time: not idle. NULL: never. */
    bool (*is_busy)(const struct connection *c);
    /* Output that had to wait was written. NULL: nobody wants to know. */
    void (*on_written)(struct connection *c);
    /* `acked_bytes` has grown. */
    void (*on_acked)(struct connection *c);
    /* The last call. The memory is the owner's again. */
    void (*on_closed)(struct connection *c);

    unsigned in_work_max;    /* requests of one connection in work at once */
    size_t output_max_bytes; /* unread output of one connection; one reply may go beyond */
    /* Of all connections together: unused input, and unread output. Beyond, those are closed
     * that have made no progress for longest; of the input's, none that keeps little. */
    size_t kept_max_bytes;
    size_t unread_max_bytes;
    uint64_t *shed;        /* counter of these, the owner's */
    int64_t idle_ms;       /* nothing in work and no input for so long: closed; 0: never */
    int64_t ending_ms;     /* the last replies not read any further for so long: closed */
    int64_t ending_ack_ms; /* the same, when all is written and not acknowledged */
    bool is_draining; /* the node stops: that time is from the last byte written on, whatever
                       * is acknowledged meanwhile */
    /* A reply has so long to be read, however slowly, and twice as long behind others; then the
     * connection is closed. An end in sight sets it anew. 0: no limit. */
    int64_t reading_ms;

    size_t kept_bytes;   /* gauge, of kept_max_bytes */
    size_t unread_bytes; /* gauge, of unread_max_bytes */

    struct listener *listener;   /* whom it accepts clients from, for moving.h; NULL: nobody */
    const struct moving *moving; /* see moving.h; NULL: no address moves */

    /* The files' of a connection, zero at first; see private.h */
    unsigned connections; /* gauge */
    struct list kept;     /* those with input; the last to make progress is the last */
    struct list unread;   /* those with output, the same */
    /* Those that await an acknowledgement, by how often the kernel was asked already; in each
     * the next one to be asked is the first. */
    struct list awaiting[CONNECTION_ACK_STEPS];
    struct timer ack_timer;
    struct hangups hangups; /* of those that are paused */
    struct list movers;     /* those over the address that moves, */
    struct list untold;     /* and those of them that do not know of its last move */
    unsigned mover_count;   /* of both */
    struct timer telling;
};

enum connection_state { CONNECTION_OPEN, CONNECTION_ENDING, CONNECTION_CLOSED };

struct event;

struct connection {
    struct connection_kind *kind;
    uint64_t number; /* unique in this process */
    enum connection_state state;
    unsigned in_work;     /* requests */
    uint64_t sent_bytes;  /* given to connection_send since the start */
    uint64_t acked_bytes; /* of these: the client's kernel has them, as far as was asked */
    uint64_t
        astray_bytes; /* closed while its address moved: up to here what was not acknowledged
                         may have arrived, its acknowledgement went to the other host */

    /* The files' of a connection */
    int fd;
    bool is_paused;  /* reads nothing, because too many requests are in work */
    bool is_deaf;    /* paused, and not even told that there is something to read */
    bool is_watched; /* for the client's end, while it is deaf; left so afterwards */
    bool saw_end;    /* the client has ended its side; still OPEN: there is input before that */
    bool has_cancelled;
    bool is_lost;       /* it was reset: nothing more is acknowledged */
    bool is_said;       /* the output ends behind what is in it */
    const char *reason; /* of the end */
    char *peer;         /* peer.c's */
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
    struct list kept;         /* in the kind's, while there is input, */
    struct list unread;       /* and output */
    struct list awaiting;     /* in the kind's, */
    unsigned ack_step;        /* in which of them, */
    int64_t ask_mono_ms;      /* and when it is to be asked; */
    uint64_t awaited_bytes;   /* while acked_bytes is less than that */
    struct list mover;        /* in the kind's, when its own end is the address that moves */
};

/* Takes the non-blocking `fd` over and reads from the next turn on. */
void connection_init(struct connection *c, struct connection_kind *kind, int fd);

/* One reply, written at once as far as the kernel takes it. On a closed connection: nothing
 * happens. */
void connection_send(struct connection *c, struct bytes bytes);

/* What was sent so far is to be acknowledged: on_acked comes when acked_bytes has grown, and
 * the connection does not wind up before acked_bytes has reached the sent_bytes of now. */
void connection_await_ack(struct connection *c);

/* Nothing more will be sent: the client sees the end behind what was, while its input is still
 * taken. */
void connection_end_output(struct connection *c);

/* A request has begun (within on_input), and (last statement of whoever answers it, later) is
 * done. */
void connection_begin(struct connection *c);
void connection_done(struct connection *c);

/* No more input; when all in work is answered and written, and what is awaited acknowledged:
 * closed. Of one that ends already, the limits of now hold from now on. */
void connection_wind_up(struct connection *c, const char *reason);

/* At once: the descriptor is closed, nothing more is sent. What is acknowledged by now is in
 * acked_bytes. on_closed comes in the next turn. */
void connection_close(struct connection *c, const char *reason);

#endif
