/* Input: offered as it comes; unused bytes are kept in front of the next ones.
 *
 * A client that sends a request in crumbs has each of them cost as much as a request. Behind a
 * number of them the connection rests for a moment, in which more of them come together. From
 * then on a crumb is followed by a rest, until large reads have made up for the crumbs or the
 * request is complete. A client that is only slow loses no more than the last rest.
 *
 * Connections that began to rest together go on one after the other: a hundred of them in one
 * turn of the loop would hold all others up.
 *
 * A paused connection reads nothing, but notices the client's end all the same: else it would
 * learn of the end from a reply that fails, or never. libevent's EV_CLOSED is made for this,
 * but 2.1 drops the event when the end is a reset, and its loop then spins. So the sockets are
 * in an epoll set of their own, whose descriptor is one event of the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "protocol/conn/private.h"

#define TLS_KEPT_BYTES 17408 /* of a record that is not complete: more than any takes */
#define CRUMB_BYTES    512   /* a read that brings less of a request is a crumb */
#define CRUMBS_MAX     32    /* then the connection rests */
#define REST_MIN_MS    50
#define REST_SPREAD_MS 50 /* more, at most */

#define HANGUPS_PER_TURN 64 /* then the rest of the loop has its turn */

void connection_stop_reading(struct connection *c)
{
    event_del(c->readable);
    c->kind->kept_bytes -= stream_len(&c->input);
    list_remove(&c->kept);
    stream_fini(&c->input);
}

/* ---- offered and kept ---- */

static void keep_input(struct connection *c, struct bytes rest)
{
    if (rest.len == 0 || c->state != CONNECTION_OPEN)
        return;
    stream_add(&c->input, rest);
    c->kind->kept_bytes += rest.len;
    shed_note_progress(&c->kind->kept, &c->kept, &c->input);
    shed_bound_kept(c->kind);
}

static void offer_kept(struct connection *c)
{
    size_t used;

    if (stream_len(&c->input) == 0)
        return;
    if (c->saw_end)
        connection_give_a_moment(c);
    used = c->kind->on_input(c, stream_bytes(&c->input));
    if (c->state != CONNECTION_OPEN)
        return; /* then the input is gone */
    if (used == 0)
        return;
    stream_take(&c->input, used);
    c->kind->kept_bytes -= used;
    shed_note_progress(&c->kind->kept, &c->kept, &c->input);
}

/* ---- reading, or not ---- */

static bool has_to_pause(const struct connection *c)
{
    return c->is_held || c->in_work >= c->kind->in_work_max;
}

static void end_input(struct connection *c)
{
    c->saw_end = true;
    connection_begin_to_end(c, stream_len(&c->input) ? "the client left within a request"
                                                     : "the client has ended");
    connection_close_when_finished(c);
}

/* What came before the end is served first. */
static void foresee_end(struct connection *c)
{
    c->saw_end = true;
    connection_give_a_moment(c);
}

/* Behind a goodbye over TLS the kernel may report no end. */
void connection_pause_or_resume(struct connection *c)
{
    bool has_to;

    if (c->state == CONNECTION_OPEN && c->is_paused && !has_to_pause(c))
        offer_kept(c);
    has_to = has_to_pause(c);
    if (c->state != CONNECTION_OPEN || has_to == c->is_paused)
        return;
    c->is_paused = has_to;
    if (c->is_read_disabled)
        event_add(c->readable, NULL);
    c->is_read_disabled = false;
    if (!has_to && connection_has_heard_goodbye(c))
        end_input(c);
}

static void on_hangup(struct connection *c);

/* One at a time: a callback may close any connection, and with the last one the set. */
static void on_hangups(evutil_socket_t epoll_fd, short what, void *arg)
{
    struct connection_kind *kind = arg;
    struct epoll_event event;

    loop_touch(kind->loop);
    for (unsigned i = 0; i < HANGUPS_PER_TURN && kind->hangup; i++) {
        if (epoll_wait(epoll_fd, &event, 1, 0) <= 0)
            return;
        on_hangup(event.data.ptr);
    }
}

static bool open_hangup_set(struct connection_kind *kind)
{
    if (kind->hangup)
        return true;
    kind->hangup_fd = epoll_create1(EPOLL_CLOEXEC);
    if (kind->hangup_fd < 0)
        return false;
    kind->hangup =
        event_new(kind->loop->base, kind->hangup_fd, EV_READ | EV_PERSIST, on_hangups, kind);
    if (!kind->hangup)
        abort();
    event_add(kind->hangup, NULL);
    return true;
}

void connections_fini_hangups(struct connection_kind *kind)
{
    if (!kind->hangup)
        return;
    event_free(kind->hangup);
    close(kind->hangup_fd);
    kind->hangup = NULL;
}

/* For one call of on_hangup(), when the end comes or has come, even behind unread bytes. False
 * when the system cannot (no descriptors left). */
static bool watch_hangup(struct connection *c)
{
    struct connection_kind *kind = c->kind;
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};

    return open_hangup_set(kind) &&
           (epoll_ctl(kind->hangup_fd, EPOLL_CTL_MOD, c->fd, &event) == 0 ||
            epoll_ctl(kind->hangup_fd, EPOLL_CTL_ADD, c->fd, &event) == 0);
}

void connection_forget_hangup(struct connection *c)
{
    if (c->kind->hangup)
        (void)epoll_ctl(c->kind->hangup_fd, EPOLL_CTL_DEL, c->fd, NULL);
}

/* Something came while the connection is paused: input that has to wait, or the end. Most
 * clients wait for their replies, so this is rare, and a pause alone costs nothing. */
static void disable_read(struct connection *c)
{
    c->is_read_disabled = true;
    event_del(c->readable);
    if (!c->is_watched && !c->saw_end)
        c->is_watched = watch_hangup(c);
}

static void take_input(struct connection *c, struct bytes bytes)
{
    uint64_t sent_before = c->sent_bytes;

    c->progress_mono_ms = connection_now(c);
    if (c->saw_end)
        connection_give_a_moment(c);
    else if (c->kind->idle_ms && !timer_is_armed(&c->timer))
        connection_arm(c, c->kind->idle_ms); /* the limit is new */
    if (stream_len(&c->input)) {
        keep_input(c, bytes);
        offer_kept(c);
    } else {
        size_t used = c->kind->on_input(c, bytes);

        keep_input(c, bytes_of(bytes.at + used, bytes.len - used));
    }
    connection_pause_or_resume(c);
    connection_leave_behind_reply(c, sent_before);
}

static void lose(struct connection *c)
{
    c->is_lost = true;
    if (connection_is_shaking(c))
        connection_fail_tls(c, "the connection was lost");
    connection_close(c, "the connection was lost");
}

static void take_encrypted(struct connection *c, struct bytes wire)
{
    static char plain[CONNECTION_READ_BYTES + TLS_KEPT_BYTES];
    size_t len;
    enum tls_progress progress = connection_take_tls(c, wire, plain, sizeof(plain), &len);

    if (len)
        take_input(c, bytes_of(plain, len));
    if (c->state != CONNECTION_OPEN)
        return;
    if (progress == TLS_BROKEN)
        lose(c);
    else if (progress == TLS_ENDED && c->is_paused && stream_len(&c->input))
        foresee_end(c);
    else if (progress == TLS_ENDED)
        end_input(c);
}

static void find_end(struct connection *c)
{
    if (connection_is_shaking(c))
        connection_fail_tls(c, "the client left within its handshake");
    else if (c->is_lost)
        lose(c);
    else
        end_input(c);
}

/* ---- crumbs ---- */

static bool is_within_request(const struct connection *c)
{
    return stream_len(&c->input) || connection_is_within_record(c) ||
           (c->kind->is_busy && c->kind->is_busy(c));
}

/* Each CRUMB_BYTES of a read make up for a crumb. So the few bytes that come together in a rest
 * do not earn their sender as many crumbs as at first. */
static unsigned crumbs_with(const struct connection *c, size_t len)
{
    size_t made_up = len / CRUMB_BYTES;

    if (!is_within_request(c))
        return 0;
    if (made_up == 0)
        return c->crumbs < CRUMBS_MAX ? c->crumbs + 1 : CRUMBS_MAX;
    return made_up < c->crumbs ? c->crumbs - (unsigned)made_up : 0;
}

static void note_crumb(struct connection *c, size_t len)
{
    int64_t rest_ms = REST_MIN_MS + (int64_t)(c->number % REST_SPREAD_MS);

    c->crumbs = crumbs_with(c, len);
    if (c->crumbs < CRUMBS_MAX)
        return;
    c->rest_mono_ms = connection_now(c) + rest_ms;
    event_del(c->readable);
    connection_arm_sooner(c, rest_ms);
}

int64_t connection_rest(struct connection *c)
{
    int64_t left_ms = c->rest_mono_ms - connection_now(c);

    if (!c->rest_mono_ms)
        return INT64_MAX;
    if (left_ms > 0)
        return left_ms;
    c->rest_mono_ms = 0;
    if (c->state == CONNECTION_OPEN && !c->is_read_disabled)
        event_add(c->readable, NULL);
    return INT64_MAX;
}

void connection_read(struct connection *c)
{
    /* One for all: it is empty again before the next event. */
    static char chunk[CONNECTION_READ_BYTES];
    size_t most = c->read_max_bytes < sizeof(chunk) ? c->read_max_bytes : sizeof(chunk);
    ssize_t n = recv(c->fd, chunk, most, MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        lose(c);
    if (n < 0)
        return;
    connection_ask_for_ack(c);
    if (c->state != CONNECTION_OPEN)
        return;
    if (n == 0)
        find_end(c);
    else if (c->tls)
        take_encrypted(c, bytes_of(chunk, (size_t)n));
    else
        take_input(c, bytes_of(chunk, (size_t)n));
    if (n > 0 && c->state == CONNECTION_OPEN && !connection_is_shaking(c))
        note_crumb(c, (size_t)n);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *c = arg;

    loop_touch(c->kind->loop);
    if (connection_is_shaking(c)) {
        connection_shake(c);
    } else if (c->is_paused) {
        disable_read(c);
        connection_ask_for_ack(c);
    } else {
        connection_read(c);
    }
}

/* Is there input in front of the client's end? */
static bool has_input(const struct connection *c)
{
    int unread = 0;

    return stream_len(&c->input) || ioctl(c->fd, SIOCINQ, &unread) != 0 || unread > 0;
}

/* While it is not paused, the end is found where the input ends. */
static void on_hangup(struct connection *c)
{
    c->is_watched = false;
    if (!c->is_paused || c->state != CONNECTION_OPEN)
        return;
    if (connection_find_error(c)) {
        lose(c);
    } else if (!has_input(c)) {
        end_input(c);
    } else {
        foresee_end(c);
    }
}

void connection_start_reading(struct connection *c)
{
    c->readable = event_new(c->kind->loop->base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    if (!c->readable)
        abort();
    event_add(c->readable, NULL);
}
