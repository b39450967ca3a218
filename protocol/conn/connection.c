#include "protocol/conn/connection.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "protocol/conn/floating.h"
#include "protocol/conn/private.h"

#define CANCEL_MS     50  /* of grace for requests in work, once the input has ended, */
#define LEAVE_MS      10  /* or while the address is leaving, which takes some 20 */
#define ENDING_MIN_MS 5   /* looks at an ending connection come this often, */
#define ENDING_MAX_MS 500 /* then less and less */

/* ---- requests ---- */

void connection_begin(struct connection *c)
{
    c->in_work++;
}

void connection_done(struct connection *c)
{
    assert(c->in_work > 0);
    c->in_work--;
    c->progress_mono_ms = connection_now(c);
    connection_pause_or_resume(c);
    connection_close_when_finished(c);
}

void connection_hold(struct connection *c)
{
    c->is_held = true;
}

void connection_resume(struct connection *c)
{
    c->is_held = false;
    c->progress_mono_ms = connection_now(c);
    connection_pause_or_resume(c);
}

/* ---- the end ----
 *
 * With an end in sight a timer looks often at first, then less and less: no event reports that
 * a client's kernel has acknowledged the last bytes. */

void connection_close(struct connection *c, const char *reason)
{
    if (c->state == CONNECTION_CLOSED)
        return;
    c->state = CONNECTION_CLOSED;
    if (connection_is_draining(c) && !connection_find_error(c))
        c->astray_bytes = c->sent_bytes - stream_len(&c->output);
    connection_stop_awaiting(c);
    LOG_DEBUG(
        c->kind->name,
        "connection %llu: closed, %s; %u in work, %zu bytes not sent, %llu awaited",
        (unsigned long long)c->number, reason, c->in_work, stream_len(&c->output),
        (unsigned long long)(connection_awaits_ack(c) ? c->awaited_bytes - c->acked_bytes : 0));
    connection_stop_reading(c);
    connection_stop_writing(c);
    connection_stop_floating(c);
    connection_fini_tls(c);
    event_free(c->readable);
    connection_forget_hangup(c);
    close(c->fd);
    if (--c->kind->connections == 0) {
        connections_fini_hangups(c->kind);
        connections_fini_acks(c->kind);
        connections_fini_floating(c->kind);
    }
    connection_arm(c, 0);
}

/* Unread input at close() would turn into a reset, which may overtake the last reply. */
static void drain(struct connection *c)
{
    char bytes[4096];

    for (unsigned i = 0; i < 64; i++)
        if (recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

/* A client that may have left, or whose address goes, will not ask again for its last replies.
 */
static void await_last_ack(struct connection *c)
{
    if (c->saw_end || connection_is_draining(c))
        connection_await_ack(c);
}

/* Over TLS the end is said in bytes, too, and the kernel may have room for them later only. */
static bool has_said_goodbye(struct connection *c)
{
    if (c->tls)
        connection_end_output(c);
    return !c->tls || c->is_shut;
}

/* The client is to see the end behind its last reply, not when that is acknowledged. */
void connection_close_when_finished(struct connection *c)
{
    if (c->state != CONNECTION_ENDING || c->in_work)
        return;
    await_last_ack(c);
    connection_note_ack(c);
    if (connection_awaits_ack(c)) {
        connection_end_output(c);
        return;
    }
    if (!connection_is_written(c))
        return;
    if (c->kind->on_finished)
        c->kind->on_finished(c);
    if (!has_said_goodbye(c))
        return;
    drain(c);
    connection_close(c, c->reason);
}

bool connection_has_end_in_sight(const struct connection *c)
{
    return c->state == CONNECTION_ENDING || (c->state == CONNECTION_OPEN && c->saw_end);
}

void connection_look_soon(struct connection *c)
{
    c->timer_ms = ENDING_MIN_MS;
    connection_arm(c, c->timer_ms);
}

void connection_give_a_moment(struct connection *c)
{
    c->end_mono_ms = connection_now(c);
    c->has_cancelled = false;
    connection_look_soon(c);
}

void connection_begin_to_end(struct connection *c, const char *reason)
{
    if (c->state != CONNECTION_OPEN)
        return;
    c->state = CONNECTION_ENDING;
    c->reason = reason;
    c->progress_mono_ms = connection_now(c);
    connection_stop_reading(c);
    connection_restart_time_to_read(c);
    connection_give_a_moment(c);
}

/* Leaves the connection no more time than one that begins to end now. */
static void hasten(struct connection *c)
{
    if (c->due_mono_ms > connection_now(c) + c->kind->reading_ms)
        connection_restart_time_to_read(c);
    connection_look_soon(c);
}

void connection_wind_up(struct connection *c, const char *reason)
{
    if (c->state == CONNECTION_ENDING)
        hasten(c);
    connection_begin_to_end(c, reason);
    connection_close_when_finished(c);
}

static int64_t cancels_at(const struct connection *c)
{
    return c->end_mono_ms + (connection_is_draining(c) ? LEAVE_MS : CANCEL_MS);
}

static void cancel_waits(struct connection *c)
{
    if (c->has_cancelled || connection_now(c) < cancels_at(c))
        return;
    c->has_cancelled = true;
    if (c->kind->on_end)
        c->kind->on_end(c);
}

/* At a stop, acknowledgements that trickle in do not prolong the wait. */
static int64_t waits_since(const struct connection *c)
{
    if (!c->kind->is_draining || !connection_is_written(c))
        return c->progress_mono_ms;
    return c->written_mono_ms > c->end_mono_ms ? c->written_mono_ms : c->end_mono_ms;
}

/* The milliseconds until the connection is given up; INT64_MAX: requests are in work, or wait
 * for what it is held for. */
static int64_t time_to_give_up(const struct connection *c)
{
    int64_t limit_ms = connection_is_written(c) ? c->kind->ending_ack_ms : c->kind->ending_ms;
    int64_t left_ms = waits_since(c) + limit_ms - connection_now(c);

    if (c->in_work || (c->is_held && c->state == CONNECTION_OPEN))
        return INT64_MAX;
    return left_ms > 0 ? left_ms : 0;
}

/* Looks later, but not past the moments when the waits are cancelled and the connection is
 * given up. */
static void look_later(struct connection *c)
{
    int64_t to_cancel_ms = cancels_at(c) - connection_now(c);
    int64_t left_ms = time_to_give_up(c), read_ms = connection_time_to_read(c);

    left_ms = read_ms < left_ms ? read_ms : left_ms;
    c->timer_ms = c->timer_ms * 2 < ENDING_MAX_MS ? c->timer_ms * 2 : ENDING_MAX_MS;
    if (!c->has_cancelled && c->timer_ms > to_cancel_ms)
        c->timer_ms = to_cancel_ms;
    connection_arm(c, c->timer_ms < left_ms ? c->timer_ms : left_ms);
}

/* Acknowledgements may have been noted at a moment when on_acked could not be called. */
static void look_for_acks(struct connection *c)
{
    if (c->state == CONNECTION_CLOSED || c->acked_bytes == c->sent_bytes)
        return;
    if (connection_find_error(c)) {
        connection_close(c, "the client left before its last reply");
        return;
    }
    connection_note_ack(c);
    c->kind->on_acked(c);
}

static void look_at_end(struct connection *c)
{
    cancel_waits(c);
    look_for_acks(c);
    if (time_to_give_up(c) == 0 || connection_time_to_read(c) == 0)
        connection_close(c, "the last replies were not read");
    connection_close_when_finished(c);
    if (c->state != CONNECTION_CLOSED)
        look_later(c);
}

/* ---- time ---- */

/* The milliseconds until it has been idle for too long, if nothing happens. */
static int64_t time_to_idle(const struct connection *c)
{
    bool is_busy = c->in_work || c->is_held || (c->kind->is_busy && c->kind->is_busy(c));
    int64_t limit_ms = c->kind->idle_ms;

    if (!limit_ms)
        return INT64_MAX;
    return is_busy ? limit_ms : c->progress_mono_ms + limit_ms - connection_now(c);
}

static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* Idle connections are looked at when they can be idle long enough, not at each request. */
static void look_at_open(struct connection *c)
{
    int64_t idle_ms = time_to_idle(c), read_ms = connection_time_to_read(c);
    int64_t tls_ms = connection_time_for_tls(c), first_ms = earlier(idle_ms, read_ms);

    first_ms = earlier(earlier(first_ms, tls_ms), connection_rest(c));
    if (idle_ms <= 0)
        connection_close(c, "idle for too long (limits.idle)");
    else if (read_ms == 0)
        connection_close(c, "its replies were not read in time (limits.request_time)");
    else if (tls_ms == 0)
        connection_give_up_tls(c);
    else if (first_ms != INT64_MAX)
        connection_arm(c, first_ms);
}

static void on_timer(struct timer *timer)
{
    struct connection *c = CONTAINER_OF(timer, struct connection, timer);

    if (connection_has_end_in_sight(c)) {
        (void)connection_rest(c);
        look_at_end(c);
    } else if (c->state == CONNECTION_OPEN) {
        look_at_open(c);
    } else {
        c->kind->on_closed(c);
    }
}

/* ---- the beginning ---- */

static void join(struct connection_kind *kind)
{
    if (kind->connections++ > 0)
        return;
    list_init(&kind->kept);
    list_init(&kind->unread);
    connections_init_acks(kind);
    connections_init_floating(kind);
}

void connection_init(struct connection *c, struct connection_kind *kind, int fd)
{
    static uint64_t last_number;

    *c = (struct connection){.kind = kind,
                             .number = ++last_number,
                             .fd = fd,
                             .read_max_bytes = CONNECTION_READ_BYTES};
    timer_init(&c->timer, on_timer);
    list_init(&c->kept);
    list_init(&c->unread);
    list_init(&c->awaiting);
    list_init(&c->mover);
    join(kind);
    c->progress_mono_ms = connection_now(c);
    connection_start_reading(c);
    if (kind->idle_ms)
        connection_arm(c, kind->idle_ms);
    connection_start_tls(c);
    connection_start_floating(c);
}

/* ---- what all of them keep ---- */

void shed_note_progress(struct list *all, struct list *link, const struct stream *s)
{
    list_remove(link);
    if (stream_len(s))
        list_append(all, link);
}

static void crowd_out(struct connection *c, const char *reason)
{
    ++*c->kind->shed;
    connection_close(c, reason);
}

/* A connection that keeps little must not pay for the others: it may wait for a reply, with the
 * start of the next request behind. */
static struct connection *find_hoarder(struct connection_kind *kind)
{
    size_t share = kind->kept_bytes / kind->connections;

    LIST_EACH (link, &kind->kept) {
        struct connection *c = CONTAINER_OF(link, struct connection, kept);

        if (stream_len(&c->input) >= share)
            return c;
    }
    abort(); /* it is an average */
}

void shed_bound_kept(struct connection_kind *kind)
{
    while (kind->kept_bytes > kind->kept_max_bytes)
        crowd_out(find_hoarder(kind), "too much memory in unfinished requests");
}

void shed_bound_unread(struct connection_kind *kind, const struct connection *newest)
{
    while (kind->unread_bytes > kind->unread_max_bytes) {
        struct connection *slowest =
            CONTAINER_OF(list_first(&kind->unread), struct connection, unread);

        if (slowest == newest)
            return;
        crowd_out(slowest, "too much output unread by all together");
    }
}
