/* The end of a connection. While one is in sight a timer looks at it often at first, then less
 * and less: nothing tells when a client's kernel has acknowledged the last bytes.
 */
#include <unistd.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/log.h"
#include "protocol/connection_private.h"
#include "protocol/moving.h"

#define HURRY_MS      50  /* of grace for requests in work, once the input has ended, */
#define LEAVE_MS      10  /* or while the address is leaving, which takes some 20 */
#define ENDING_MIN_MS 5   /* looks at an ending connection come this often, */
#define ENDING_MAX_MS 500 /* then less and less */

void connection_close(struct connection *c, const char *reason)
{
    if (c->state == CONNECTION_CLOSED)
        return;
    c->state = CONNECTION_CLOSED;
    LOG_DEBUG(c->kind->name, "connection %llu: closed, %s; %u in work, %llu bytes not sent",
              (unsigned long long)c->number, reason, c->in_work,
              (unsigned long long)(c->sent_bytes - c->flushed_bytes));
    connection_stop_reading(c);
    connection_stop_writing(c);
    connection_stop_moving(c);
    event_free(c->readable);
    hangups_forget(&c->kind->hangups, c->fd);
    close(c->fd);
    if (--c->kind->connections == 0) {
        hangups_fini(&c->kind->hangups);
        connections_fini_moving(c->kind);
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

/* A client that is let go is to know it with its last reply, not when that is acknowledged. */
void connection_close_when_finished(struct connection *c)
{
    if (c->state != CONNECTION_ENDING || c->in_work)
        return;
    if (c->flushed_bytes != c->sent_bytes) {
        if (connection_is_leaving(c))
            connection_end_output(c);
        return;
    }
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
    c->was_hurried = false;
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

void connection_wind_up(struct connection *c, const char *reason)
{
    connection_begin_to_end(c, reason);
    connection_close_when_finished(c);
}

static int64_t hurries_at(const struct connection *c)
{
    return c->end_mono_ms + (connection_is_leaving(c) ? LEAVE_MS : HURRY_MS);
}

static void hurry(struct connection *c)
{
    if (c->was_hurried || connection_now(c) < hurries_at(c))
        return;
    c->was_hurried = true;
    if (c->kind->on_end)
        c->kind->on_end(c);
}

static bool is_given_up(const struct connection *c)
{
    int64_t quiet_ms = connection_now(c) - c->progress_mono_ms;

    return (c->in_work == 0 && quiet_ms >= c->kind->ending_ms) ||
           connection_time_to_read(c) == 0;
}

/* Not past the moment when it is hurried. */
static void look_later(struct connection *c)
{
    int64_t to_hurry_ms = hurries_at(c) - connection_now(c);

    c->timer_ms = c->timer_ms * 2 < ENDING_MAX_MS ? c->timer_ms * 2 : ENDING_MAX_MS;
    if (!c->was_hurried && c->timer_ms > to_hurry_ms)
        c->timer_ms = to_hurry_ms;
    connection_arm(c, c->timer_ms);
}

void connection_look_at_end(struct connection *c)
{
    hurry(c);
    if (c->state != CONNECTION_CLOSED && connection_note_flushed(c))
        c->kind->on_flushed(c);
    if (is_given_up(c))
        connection_close(c, "the last replies were not read");
    connection_close_when_finished(c);
    if (c->state != CONNECTION_CLOSED)
        look_later(c);
}
