/* Output: written at once as far as the kernel takes it, the rest when it takes more; and how
 * much of it the client's kernel has acknowledged. One timer asks for all connections of a
 * kind: for each after 45 ms, then, without progress, after twice as long each time, up to a
 * second.
 *
 * Time to read: when output begins to wait, all that was sent so far is due after reading_ms;
 * once that is written, the output waiting then is due next. So a reply is read within that
 * time or, behind others, within twice as much, without an account of each reply.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "protocol/conn/private.h"

/* Linux acknowledges after 40 ms what it does not acknowledge with a request. */
#define ACK_FIRST_MS   45
#define ACK_LAST_MS    1000
#define ASKED_PER_TURN 500 /* then the rest of the loop has its turn */

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

/* ---- acknowledged ---- */

/* SO_ERROR would also report a router's passing "no route", which the connection survives. */
bool connection_find_error(struct connection *c)
{
    struct pollfd look = {.fd = c->fd};

    if (poll(&look, 1, 0) > 0 && look.revents & POLLERR)
        c->is_lost = true;
    return c->is_lost;
}

bool connection_is_written(const struct connection *c)
{
    return stream_len(&c->output) == 0;
}

bool connection_awaits_ack(const struct connection *c)
{
    return c->acked_bytes < c->awaited_bytes;
}

/* How much of the written output is acknowledged, as the kernel counts; a shutdown counts as a
 * byte, too. */
static uint64_t acknowledged_bytes(struct connection *c)
{
    uint64_t written = written_bytes(c);
    int waiting = 0;

    if (ioctl(c->fd, SIOCOUTQ, &waiting) != 0)
        return written;
    waiting -= c->is_shut && waiting > 0;
    if (c->tls)
        return connection_acked_by_tls(c, (uint64_t)waiting);
    return (uint64_t)waiting < written ? written - (uint64_t)waiting : 0;
}

/* A reset throws away what the client has not read. So the error is looked for after the bytes,
 * whoever asks. */
void connection_note_ack(struct connection *c)
{
    uint64_t acked =
        connection_awaits_ack(c) && !c->is_lost ? acknowledged_bytes(c) : c->acked_bytes;

    if (acked > c->acked_bytes && !connection_find_error(c)) {
        c->acked_bytes = acked;
        c->progress_mono_ms = connection_now(c);
    }
    if (!connection_awaits_ack(c))
        list_remove(&c->awaiting);
}

void connection_ask_for_ack(struct connection *c)
{
    uint64_t before = c->acked_bytes;

    connection_note_ack(c);
    if (c->acked_bytes > before)
        c->kind->on_acked(c);
}

void connection_stop_awaiting(struct connection *c)
{
    connection_note_ack(c);
    list_remove(&c->awaiting);
}

static int64_t ack_delay_ms(unsigned step)
{
    int64_t delay_ms = (int64_t)ACK_FIRST_MS << step;

    return delay_ms < ACK_LAST_MS ? delay_ms : ACK_LAST_MS;
}

static void arm_ack_timer(struct connection_kind *kind, int64_t at_mono_ms)
{
    struct timers *timers = &kind->loop->timers;

    if (!timer_is_armed(&kind->ack_timer) || kind->ack_timer.due_mono_ms > at_mono_ms)
        timer_arm(timers, &kind->ack_timer, at_mono_ms - timers_now(timers));
}

static void ask_later(struct connection *c, unsigned step)
{
    c->ack_step = step < CONNECTION_ACK_STEPS ? step : CONNECTION_ACK_STEPS - 1;
    c->ask_mono_ms = connection_now(c) + ack_delay_ms(c->ack_step);
    list_append(&c->kind->awaiting[c->ack_step], &c->awaiting);
    arm_ack_timer(c->kind, c->ask_mono_ms);
}

void connection_await_ack(struct connection *c)
{
    if (c->state == CONNECTION_CLOSED)
        return;
    c->awaited_bytes = c->sent_bytes;
    if (connection_awaits_ack(c) && !list_is_linked(&c->awaiting))
        ask_later(c, 0);
}

/* A client that acknowledges more is asked for often again. A lost connection is left to
 * on_readable, which closes it behind its last input. */
static void ask_in_turn(struct connection *c)
{
    uint64_t before = c->acked_bytes;

    list_remove(&c->awaiting);
    connection_ask_for_ack(c);
    if (c->state != CONNECTION_CLOSED && !c->is_lost && connection_awaits_ack(c))
        ask_later(c, c->acked_bytes > before ? 0 : c->ack_step + 1);
}

static struct connection *next_to_ask(struct connection_kind *kind)
{
    struct connection *next = NULL;

    for (unsigned i = 0; i < CONNECTION_ACK_STEPS; i++) {
        struct list *link = list_first(&kind->awaiting[i]);
        struct connection *c = link ? CONTAINER_OF(link, struct connection, awaiting) : NULL;

        if (c && (!next || c->ask_mono_ms < next->ask_mono_ms))
            next = c;
    }
    return next;
}

/* Most connections were asked for already, when their client sent something. */
static void on_ack_timer(struct timer *timer)
{
    struct connection_kind *kind = CONTAINER_OF(timer, struct connection_kind, ack_timer);
    int64_t now = timers_now(&kind->loop->timers);
    struct connection *c;

    for (unsigned i = 0; (c = next_to_ask(kind)); i++) {
        if (c->ask_mono_ms > now || i == ASKED_PER_TURN) {
            arm_ack_timer(kind, c->ask_mono_ms > now ? c->ask_mono_ms : now);
            return;
        }
        ask_in_turn(c);
    }
}

void connections_init_acks(struct connection_kind *kind)
{
    for (unsigned i = 0; i < CONNECTION_ACK_STEPS; i++)
        list_init(&kind->awaiting[i]);
    timer_init(&kind->ack_timer, on_ack_timer);
}

void connections_fini_acks(struct connection_kind *kind)
{
    timer_disarm(&kind->loop->timers, &kind->ack_timer);
}

/* ---- written ---- */

/* How much of `bytes` the kernel takes; the connection may be closed after the call. */
static size_t write_some(struct connection *c, struct bytes bytes)
{
    ssize_t n;

    do {
        n = c->tls ? connection_write_tls(c, bytes)
                   : send(c->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno != EAGAIN) {
        c->is_lost = true;
        connection_close(c, "the client left before it was answered");
    }
    return 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg);

/* Made when first needed, which it is for few connections. */
void connection_await_writable(struct connection *c)
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
    shed_bound_unread(c->kind, c);
    connection_await_writable(c);
}

void connection_send(struct connection *c, struct bytes bytes)
{
    size_t n = 0;

    if (c->state == CONNECTION_CLOSED)
        return;
    if (connection_is_shaking(c)) {
        connection_close(c, "there was something to tell it within its TLS handshake");
        return;
    }
    if (stream_len(&c->output) > c->kind->output_max_bytes) {
        connection_close(c, "too much output unread (limits.output_bytes)");
        return;
    }
    if (stream_len(&c->output) == 0)
        n = write_some(c, bytes);
    if (c->state == CONNECTION_CLOSED)
        return;
    c->sent_bytes += bytes.len;
    if (n > 0)
        c->progress_mono_ms = c->written_mono_ms = connection_now(c);
    if (n < bytes.len)
        keep_output(c, bytes_of(bytes.at + n, bytes.len - n));
    if (connection_has_end_in_sight(c))
        connection_look_soon(c);
}

static void end_when_said(struct connection *c)
{
    if (!c->is_said || c->is_shut || stream_len(&c->output))
        return;
    if (!connection_end_tls(c)) {
        connection_await_writable(c);
        return;
    }
    shutdown(c->fd, SHUT_WR);
    c->is_shut = true;
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
    if (n > 0)
        c->progress_mono_ms = c->written_mono_ms = connection_now(c);
    stream_take(&c->output, n);
    c->kind->unread_bytes -= n;
    shed_note_progress(&c->kind->unread, &c->unread, &c->output);
    if (written_bytes(c) >= c->due_bytes)
        connection_restart_time_to_read(c);
    if (stream_len(&c->output))
        connection_await_writable(c);
    else
        end_when_said(c);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *c = arg;

    loop_touch(c->kind->loop);
    if (!connection_flush_tls(c))
        return;
    if (stream_len(&c->output))
        write_kept(c);
    else
        end_when_said(c);
    if (c->state != CONNECTION_CLOSED)
        connection_ask_for_ack(c);
    if (c->state != CONNECTION_CLOSED && c->kind->on_written)
        c->kind->on_written(c);
    connection_close_when_finished(c);
}
