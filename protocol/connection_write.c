/* Output: at once as far as the kernel takes it, the rest when it takes more.
 *
 * Time to read: what had been sent when the first of it had to wait is due after reading_ms;
 * when it has been written, what is waiting then is due next. So a reply is read within that
 * time or, behind others, within twice as much, and nobody keeps an account of each.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "protocol/connection_private.h"
#include "protocol/crowd.h"
#include "protocol/moving.h"

static uint64_t written_bytes(const struct connection *c)
{
    return c->sent_bytes - stream_len(&c->output);
}

void connection_stop_writing(struct connection *c)
{
    if (c->writable)
        event_free(c->writable);
    c->writable = NULL;
    c->kind->unread_bytes -= stream_len(&c->output);
    list_remove(&c->unread);
    stream_fini(&c->output);
}

/* ---- time to read ---- */

int64_t connection_time_to_read(const struct connection *c)
{
    int64_t left_ms = c->due_mono_ms - connection_now(c);

    if (!c->kind->reading_ms || stream_len(&c->output) == 0)
        return INT64_MAX;
    return left_ms > 0 ? left_ms : 0;
}

void connection_restart_time_to_read(struct connection *c)
{
    c->due_bytes = c->sent_bytes;
    c->due_mono_ms = connection_now(c) + c->kind->reading_ms;
    if (stream_len(&c->output) && c->kind->reading_ms)
        connection_arm_sooner(c, c->kind->reading_ms);
}

/* ---- flushed ---- */

const char *connection_pending_error(struct connection *c)
{
    int error = 0;
    socklen_t len = sizeof(error);

    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error ? "the client left before its last reply" : NULL;
}

/* Has the client's kernel acknowledged all? */
static bool is_acknowledged(struct connection *c)
{
    int waiting = 0;

    return ioctl(c->fd, SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

/* What the kernel has may never arrive. */
static bool wants_acknowledgement(const struct connection *c)
{
    return c->saw_end || (c->state == CONNECTION_ENDING && connection_is_leaving(c));
}

bool connection_note_flushed(struct connection *c)
{
    uint64_t written = written_bytes(c);
    bool is_doubtful = wants_acknowledgement(c);
    const char *error = is_doubtful ? connection_pending_error(c) : NULL;

    if (error) {
        connection_close(c, error);
        return false;
    }
    if (written == c->flushed_bytes || (is_doubtful && !is_acknowledged(c)))
        return false;
    c->flushed_bytes = written;
    c->progress_mono_ms = connection_now(c);
    return true;
}

/* ---- written ---- */

/* What the kernel takes of `bytes`; the connection may be closed behind it. */
static size_t write_some(struct connection *c, struct bytes bytes)
{
    ssize_t n;

    do {
        n = send(c->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN)
        connection_close(c, "the client left before it was answered");
    return 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg);

/* Most never need it. */
static void await_writable(struct connection *c)
{
    if (!c->writable)
        c->writable = event_new(c->kind->loop->base, c->fd, EV_WRITE, on_writable, c);
    if (!c->writable)
        abort();
    event_add(c->writable, NULL);
}

static void keep_output(struct connection *c, struct bytes rest)
{
    bool is_first = stream_len(&c->output) == 0;

    if (is_first)
        list_append(&c->kind->unread, &c->unread);
    stream_add(&c->output, rest);
    c->kind->unread_bytes += rest.len;
    if (is_first)
        connection_restart_time_to_read(c);
    crowd_bound_unread(c->kind, c);
    await_writable(c);
}

void connection_send(struct connection *c, struct bytes bytes)
{
    size_t n = 0;

    if (c->state == CONNECTION_CLOSED)
        return;
    if (stream_len(&c->output) > c->kind->output_max_bytes) {
        connection_close(c, "too much output unread (limits.output_bytes)");
        return;
    }
    if (stream_len(&c->output) == 0)
        n = write_some(c, bytes);
    if (c->state == CONNECTION_CLOSED)
        return;
    c->sent_bytes += bytes.len;
    if (n < bytes.len)
        keep_output(c, bytes_of(bytes.at + n, bytes.len - n));
    if (!connection_note_flushed(c) && connection_has_end_in_sight(c))
        connection_look_soon(c);
}

static void end_when_said(struct connection *c)
{
    if (c->is_said && stream_len(&c->output) == 0)
        shutdown(c->fd, SHUT_WR);
}

void connection_end_output(struct connection *c)
{
    if (c->state == CONNECTION_CLOSED || c->is_said)
        return;
    c->is_said = true;
    end_when_said(c);
}

static void write_kept(struct connection *c)
{
    size_t n = write_some(c, stream_bytes(&c->output));

    if (c->state == CONNECTION_CLOSED)
        return;
    stream_take(&c->output, n);
    c->kind->unread_bytes -= n;
    crowd_moved(&c->kind->unread, &c->unread, &c->output);
    if (written_bytes(c) >= c->due_bytes)
        connection_restart_time_to_read(c);
    if (stream_len(&c->output))
        await_writable(c);
    else
        end_when_said(c);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *c = arg;

    loop_touch(c->kind->loop);
    if (stream_len(&c->output))
        write_kept(c);
    if (c->state == CONNECTION_CLOSED)
        return;
    if (connection_note_flushed(c))
        c->kind->on_flushed(c);
    connection_close_when_finished(c);
}
