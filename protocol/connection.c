#include "protocol/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"
#include "protocol/crowd.h"

#define CHUNK_BYTES   65536
#define HURRY_MS      50  /* of grace for requests in work, once the input has ended */
#define ENDING_MIN_MS 5   /* looks at an ending connection come this often, */
#define ENDING_MAX_MS 500 /* then less and less */

static void arm_timer(struct connection *c, int64_t delay_ms)
{
    timer_arm(&c->kind->loop->timers, &c->timer, delay_ms);
}

static int64_t now_of(const struct connection *c)
{
    return timers_now(&c->kind->loop->timers);
}

/* ---- the end ---- */

static void forget_input(struct connection *c)
{
    c->kind->kept_bytes -= stream_len(&c->input);
    list_remove(&c->kept);
    stream_fini(&c->input);
}

static void forget_output(struct connection *c)
{
    c->kind->unread_bytes -= stream_len(&c->output);
    list_remove(&c->unread);
    stream_fini(&c->output);
}

void connection_close(struct connection *c, const char *reason)
{
    if (c->state == CONNECTION_CLOSED)
        return;
    c->state = CONNECTION_CLOSED;
    LOG_DEBUG(c->kind->name, "connection %llu: closed, %s; %u in work, %llu bytes not sent",
              (unsigned long long)c->number, reason, c->in_work,
              (unsigned long long)(c->sent_bytes - c->flushed_bytes));
    event_free(c->readable);
    if (c->writable)
        event_free(c->writable);
    hangups_forget(&c->kind->hangups, c->fd);
    close(c->fd);
    if (--c->kind->connections == 0)
        hangups_fini(&c->kind->hangups);
    forget_input(c);
    forget_output(c);
    arm_timer(c, 0);
}

/* Unread input at close() would turn into a reset, which may overtake the last reply. */
static void drain(struct connection *c)
{
    char bytes[4096];

    for (unsigned i = 0; i < 64; i++)
        if (recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

static void close_when_finished(struct connection *c)
{
    if (c->state != CONNECTION_ENDING || c->in_work || c->flushed_bytes != c->sent_bytes)
        return;
    drain(c);
    connection_close(c, c->reason);
}

static bool has_end_in_sight(const struct connection *c)
{
    return c->state == CONNECTION_ENDING || (c->state == CONNECTION_OPEN && c->saw_end);
}

static void look_soon(struct connection *c)
{
    c->timer_ms = ENDING_MIN_MS;
    arm_timer(c, c->timer_ms);
}

/* What came last before the end has its moment, then it is hurried. */
static void give_a_moment(struct connection *c)
{
    c->end_mono_ms = now_of(c);
    c->was_hurried = false;
    look_soon(c);
}

static void begin_to_end(struct connection *c, const char *reason)
{
    if (c->state != CONNECTION_OPEN)
        return;
    c->state = CONNECTION_ENDING;
    c->reason = reason;
    c->progress_mono_ms = now_of(c);
    event_del(c->readable);
    forget_input(c);
    give_a_moment(c);
}

void connection_wind_up(struct connection *c, const char *reason)
{
    begin_to_end(c, reason);
    close_when_finished(c);
}

/* ---- output ---- */

static const char *pending_error(struct connection *c)
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

/* True when flushed_bytes has grown. */
static bool note_flushed(struct connection *c)
{
    uint64_t written = c->sent_bytes - stream_len(&c->output);
    const char *error = c->saw_end ? pending_error(c) : NULL;

    if (error) {
        connection_close(c, error);
        return false;
    }
    if (written == c->flushed_bytes || (c->saw_end && !is_acknowledged(c)))
        return false;
    c->flushed_bytes = written;
    c->progress_mono_ms = now_of(c);
    return true;
}

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
    if (stream_len(&c->output) == 0)
        list_append(&c->kind->unread, &c->unread);
    stream_add(&c->output, rest);
    c->kind->unread_bytes += rest.len;
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
    if (!note_flushed(c) && has_end_in_sight(c))
        look_soon(c);
}

static void end_when_said(struct connection *c)
{
    if (c->is_said && stream_len(&c->output) == 0)
        shutdown(c->fd, SHUT_WR);
}

void connection_end_output(struct connection *c)
{
    if (c->state == CONNECTION_CLOSED)
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
    if (note_flushed(c))
        c->kind->on_flushed(c);
    close_when_finished(c);
}

/* ---- input ---- */

static void keep_input(struct connection *c, struct bytes rest)
{
    if (rest.len == 0 || c->state != CONNECTION_OPEN)
        return;
    stream_add(&c->input, rest);
    c->kind->kept_bytes += rest.len;
    crowd_moved(&c->kind->kept, &c->kept, &c->input);
    crowd_bound_kept(c->kind);
}

static void offer_kept(struct connection *c)
{
    size_t used;

    if (stream_len(&c->input) == 0)
        return;
    if (c->saw_end)
        give_a_moment(c);
    used = c->kind->on_input(c, stream_bytes(&c->input));
    if (c->state != CONNECTION_OPEN)
        return; /* then the input is gone */
    if (used == 0)
        return;
    stream_take(&c->input, used);
    c->kind->kept_bytes -= used;
    crowd_moved(&c->kind->kept, &c->kept, &c->input);
}

/* After all that may change what is in work, or the limit of it: is there room for more? */
static void pause_or_resume(struct connection *c)
{
    unsigned max = c->kind->in_work_max;
    bool is_full;

    if (c->state == CONNECTION_OPEN && c->is_paused && c->in_work < max)
        offer_kept(c);
    is_full = c->in_work >= max;
    if (c->state != CONNECTION_OPEN || is_full == c->is_paused)
        return;
    c->is_paused = is_full;
    if (c->is_deaf)
        event_add(c->readable, NULL);
    c->is_deaf = false;
}

/* Something came while it is paused: input that has to wait, or the end. Most clients wait for
 * their replies, so that it seldom comes to this, and pausing costs nothing. */
static void turn_deaf(struct connection *c)
{
    c->is_deaf = true;
    event_del(c->readable);
    if (!c->is_watched && !c->saw_end)
        c->is_watched = hangups_watch(&c->kind->hangups, c->fd, c);
}

static void take_input(struct connection *c, struct bytes bytes)
{
    c->progress_mono_ms = now_of(c);
    if (c->saw_end)
        give_a_moment(c);
    else if (c->kind->idle_ms && !timer_is_armed(&c->timer))
        arm_timer(c, c->kind->idle_ms); /* the limit is new */
    if (stream_len(&c->input)) {
        keep_input(c, bytes);
        offer_kept(c);
    } else {
        size_t used = c->kind->on_input(c, bytes);

        keep_input(c, bytes_of(bytes.at + used, bytes.len - used));
    }
    pause_or_resume(c);
}

static void end_input(struct connection *c)
{
    c->saw_end = true;
    begin_to_end(c, stream_len(&c->input) ? "the client left within a request"
                                          : "the client has ended");
    close_when_finished(c);
}

static size_t read_max(const struct connection *c)
{
    size_t max = c->kind->read_max ? c->kind->read_max(c) : CHUNK_BYTES;

    return max < CHUNK_BYTES ? max : CHUNK_BYTES;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char chunk[CHUNK_BYTES]; /* one for all: it is empty again before the next event */
    struct connection *c = arg;
    ssize_t n;

    loop_touch(c->kind->loop);
    if (c->is_paused) {
        turn_deaf(c);
        return;
    }
    n = recv(fd, chunk, read_max(c), MSG_DONTWAIT);
    if (n > 0) {
        take_input(c, bytes_of(chunk, (size_t)n));
    } else if (n == 0) {
        end_input(c);
    } else if (errno != EAGAIN && errno != EINTR) {
        connection_close(c, "the connection was lost");
    }
}

/* Is there input in front of the client's end? */
static bool has_input(const struct connection *c)
{
    int unread = 0;

    return stream_len(&c->input) || ioctl(c->fd, SIOCINQ, &unread) != 0 || unread > 0;
}

/* While it is not paused, the end is found where the input ends. */
static void on_hangup(void *arg)
{
    struct connection *c = arg;

    c->is_watched = false;
    if (!c->is_paused || c->state != CONNECTION_OPEN)
        return;
    if (pending_error(c)) {
        connection_close(c, "the connection was lost");
    } else if (!has_input(c)) {
        end_input(c);
    } else {
        c->saw_end = true;
        give_a_moment(c);
    }
}

/* ---- requests ---- */

void connection_begin(struct connection *c)
{
    c->in_work++;
}

void connection_done(struct connection *c)
{
    assert(c->in_work > 0);
    c->in_work--;
    c->progress_mono_ms = now_of(c);
    pause_or_resume(c);
    close_when_finished(c);
}

/* ---- time ---- */

/* Idle connections are looked at when they can be idle long enough, not at each request. */
static void look_at_open(struct connection *c, int64_t now_mono_ms)
{
    bool is_busy = c->in_work || (c->kind->is_busy && c->kind->is_busy(c));
    int64_t idle_ms = is_busy ? 0 : now_mono_ms - c->progress_mono_ms;
    int64_t limit_ms = c->kind->idle_ms;

    if (limit_ms && idle_ms >= limit_ms)
        connection_close(c, "idle for too long (limits.idle)");
    else if (limit_ms)
        arm_timer(c, limit_ms - idle_ms);
}

static void look_at_end(struct connection *c, int64_t now_mono_ms)
{
    if (!c->was_hurried && now_mono_ms - c->end_mono_ms >= HURRY_MS) {
        c->was_hurried = true;
        if (c->kind->on_end)
            c->kind->on_end(c);
    }
    if (c->state != CONNECTION_CLOSED && note_flushed(c))
        c->kind->on_flushed(c);
    if (c->in_work == 0 && now_mono_ms - c->progress_mono_ms >= c->kind->ending_ms)
        connection_close(c, "the last replies were not read");
    close_when_finished(c);
    if (c->state == CONNECTION_CLOSED)
        return;
    c->timer_ms = c->timer_ms * 2 < ENDING_MAX_MS ? c->timer_ms * 2 : ENDING_MAX_MS;
    arm_timer(c, c->timer_ms);
}

static void on_timer(struct timer *timer)
{
    struct connection *c = CONTAINER_OF(timer, struct connection, timer);

    if (has_end_in_sight(c))
        look_at_end(c, now_of(c));
    else if (c->state == CONNECTION_OPEN)
        look_at_open(c, now_of(c));
    else
        c->kind->on_closed(c);
}

void connection_init(struct connection *c, struct connection_kind *kind, int fd)
{
    static uint64_t last_number;

    *c = (struct connection){.kind = kind, .number = ++last_number, .fd = fd};
    timer_init(&c->timer, on_timer);
    c->readable = event_new(kind->loop->base, fd, EV_READ | EV_PERSIST, on_readable, c);
    if (!c->readable)
        abort();
    list_init(&c->kept);
    list_init(&c->unread);
    if (kind->connections++ == 0) {
        hangups_init(&kind->hangups, kind->loop, on_hangup);
        list_init(&kind->kept);
        list_init(&kind->unread);
    }
    c->progress_mono_ms = now_of(c);
    event_add(c->readable, NULL);
    if (kind->idle_ms)
        arm_timer(c, kind->idle_ms);
}
