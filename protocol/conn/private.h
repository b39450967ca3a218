/* What the files of a connection know of each other. Private to them.
 *
 *   connection.c  its beginning, its requests, its timer, its end; what all keep together
 *   read.c        input: offered, kept, and when nothing is read
 *   write.c       output: written, kept, acknowledged, and read in time
 *   floating.c    when its own end is an address that moves to another node
 *   handshake.c   whether its bytes are encrypted, and the keys they are encrypted by
 *   tls.c         when they are
 */
#ifndef DUEQ_PROTOCOL_CONN_PRIVATE_H
#define DUEQ_PROTOCOL_CONN_PRIVATE_H

#include <sys/types.h>

#include "protocol/conn/connection.h"

static inline int64_t connection_now(const struct connection *c)
{
    return timers_now(&c->kind->loop->timers);
}

static inline void connection_arm(struct connection *c, int64_t delay_ms)
{
    timer_arm(&c->kind->loop->timers, &c->timer, delay_ms);
}

/* Unless the timer is due earlier. */
static inline void connection_arm_sooner(struct connection *c, int64_t delay_ms)
{
    if (!timer_is_armed(&c->timer) || c->timer.due_mono_ms > connection_now(c) + delay_ms)
        connection_arm(c, delay_ms);
}

/* ---- connection.c: the end ---- */

/* Ending, or about to end once the input before the client's end is used. */
bool connection_has_end_in_sight(const struct connection *c);

/* With an end in sight: the timer comes soon, and then less and less often. */
void connection_look_soon(struct connection *c);

/* The last requests before the end get a moment, then their waits are cancelled. */
void connection_give_a_moment(struct connection *c);

/* OPEN -> ENDING; in other states nothing happens. */
void connection_begin_to_end(struct connection *c, const char *reason);

/* Closes an ending connection that has finished; else does nothing. */
void connection_close_when_finished(struct connection *c);

/* ---- connection.c: what all connections of a kind keep in memory together ----
 *
 * Over a limit, the connection without progress for longest is closed. The kind's lists `kept`
 * and `unread` are in the order of progress. Closing a connection takes it out of both, and its
 * bytes out of the gauges. */

/* A connection made progress with `s`: moves `link` to the end of `all`, or out of the list
 * when `s` is empty. */
void shed_note_progress(struct list *all, struct list *link, const struct stream *s);

/* Closes connections until the unused input of all is within kept_max_bytes; one of them may be
 * the connection whose input was added last. */
void shed_bound_kept(struct connection_kind *kind);

/* The same for unread output; but `newest` stays whatever it has, or a large reply could never
 * be given to anybody. */
void shed_bound_unread(struct connection_kind *kind, const struct connection *newest);

/* ---- read.c ---- */

/* What the kernel has now, once; and to the dialect what comes of it. */
void connection_read(struct connection *c);

/* From the next turn on. */
void connection_start_reading(struct connection *c);

/* For good: unused input is forgotten; harmless twice. */
void connection_stop_reading(struct connection *c);

/* Call after every change of `in_work` or of its limit. */
void connection_pause_or_resume(struct connection *c);

/* For good: its end is no longer watched for. Call before the descriptor is closed. */
void connection_forget_hangup(struct connection *c);

/* Called with the kind's last connection. */
void connections_fini_hangups(struct connection_kind *kind);

/* ---- write.c ---- */

/* For good: unwritten output is forgotten. */
void connection_stop_writing(struct connection *c);

void connection_await_writable(struct connection *c);

/* All that was sent is with the kernel. */
bool connection_is_written(const struct connection *c);

/* Somebody awaits an acknowledgement that has not come. */
bool connection_awaits_ack(const struct connection *c);

/* Asks the kernel, where an acknowledgement is awaited; calls nobody. */
void connection_note_ack(struct connection *c);

/* The same, and calls on_acked, which may close. */
void connection_ask_for_ack(struct connection *c);

/* For good, right before the descriptor is closed: asks for the last time. */
void connection_stop_awaiting(struct connection *c);

/* Called with the kind's first connection, and with its last. */
void connections_init_acks(struct connection_kind *kind);
void connections_fini_acks(struct connection_kind *kind);

/* The milliseconds that the client still has to read its waiting replies. 0: it was too slow;
 * INT64_MAX: nothing waits, or there is no limit. */
int64_t connection_time_to_read(const struct connection *c);

/* All waiting output gets its full time again. */
void connection_restart_time_to_read(struct connection *c);

/* Has the connection failed? The kernel reports an error only once, `is_lost` remembers. */
bool connection_find_error(struct connection *c);

/* Reads again, if it has rested for long enough. The milliseconds that it still rests;
 * INT64_MAX: it does not. */
int64_t connection_rest(struct connection *c);

/* ---- handshake.c ---- */

/* At the beginning. */
void connection_start_tls(struct connection *c);

/* Nothing can be sent or received yet, or any more: what comes is for connection_shake(), from
 * the loop. */
bool connection_is_shaking(const struct connection *c);
void connection_shake(struct connection *c);

/* Its handshake has failed: closes. */
void connection_fail_tls(struct connection *c, const char *reason);

/* The milliseconds left for a handshake, or for a record that has begun; INT64_MAX: neither is
 * going on, or there is no limit. At 0: closes. */
int64_t connection_time_for_tls(const struct connection *c);
void connection_give_up_tls(struct connection *c);

/* ---- tls.c ---- */

/* For good, before the descriptor is closed; says goodbye where that is possible. */
void connection_fini_tls(struct connection *c);

/* A part of a record is in the session. */
bool connection_is_within_record(const struct connection *c);

enum tls_progress {
    TLS_MORE,   /* there may be more input */
    TLS_ENDED,  /* the client sends no more */
    TLS_BROKEN, /* nothing can be received any more */
    TLS_CLOSED, /* the connection is closed */
};

/* Takes what has come over the wire, perhaps nothing, and decrypts all that is complete: at
 * most `wire.len` and a record. */
enum tls_progress connection_take_tls(struct connection *c, struct bytes wire, char *to,
                                      size_t room, size_t *len);

/* The client has said over TLS that it sends no more; a connection without TLS has not. */
bool connection_has_heard_goodbye(const struct connection *c);

/* Writes what the kernel had no room for. False: there is none still, and on_writable comes; or
 * the connection is closed. */
bool connection_flush_tls(struct connection *c);

/* Writes as send() does, with its errno. */
ssize_t connection_write_tls(struct connection *c, struct bytes bytes);

/* How much of what was written is acknowledged, while the kernel holds `waiting_bytes`. */
uint64_t connection_acked_by_tls(struct connection *c, uint64_t waiting_bytes);

/* Tells the client that nothing more comes. False: the kernel has no room for that now. */
bool connection_end_tls(struct connection *c);

/* ---- floating.c ---- */

/* Called with the kind's first connection, and with its last. */
void connections_init_floating(struct connection_kind *kind);
void connections_fini_floating(struct connection_kind *kind);

/* At the beginning: is it over the address that moves? May close. */
void connection_start_floating(struct connection *c);

/* For good. */
void connection_stop_floating(struct connection *c);

/* Call when input was taken; `sent_before` is sent_bytes from before. A connection whose
 * address is leaving is read no further once its request is in work or answered. */
void connection_leave_behind_reply(struct connection *c, uint64_t sent_before);

#endif
