#include "protocol/conn/connection.h"

#include <assert.h>
#include <stdlib.h>

#include "protocol/conn/private.h"

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

/* ---- time ---- */

/* The milliseconds until it has been idle for too long, if nothing happens. */
static int64_t time_to_idle(const struct connection *c)
{
    bool is_busy = c->in_work || (c->kind->is_busy && c->kind->is_busy(c));
    int64_t limit_ms = c->kind->idle_ms;

    if (!limit_ms)
        return INT64_MAX;
    return is_busy ? limit_ms : c->progress_mono_ms + limit_ms - connection_now(c);
}

/* Idle connections are looked at when they can be idle long enough, not at each request. */
static void look_at_open(struct connection *c)
{
    int64_t idle_ms = time_to_idle(c), read_ms = connection_time_to_read(c);

    if (idle_ms <= 0)
        connection_close(c, "idle for too long (limits.idle)");
    else if (read_ms == 0)
        connection_close(c, "its replies were not read in time (limits.request_time)");
    else if (idle_ms != INT64_MAX || read_ms != INT64_MAX)
        connection_arm(c, idle_ms < read_ms ? idle_ms : read_ms);
}

static void on_timer(struct timer *timer)
{
    struct connection *c = CONTAINER_OF(timer, struct connection, timer);

    if (connection_has_end_in_sight(c))
        connection_look_at_end(c);
    else if (c->state == CONNECTION_OPEN)
        look_at_open(c);
    else
        c->kind->on_closed(c);
}

/* ---- the beginning ---- */

static void join(struct connection_kind *kind)
{
    if (kind->connections++ > 0)
        return;
    hangups_init(&kind->hangups, kind->loop, connection_on_hangup);
    list_init(&kind->kept);
    list_init(&kind->unread);
    connections_init_acks(kind);
    connections_init_floating(kind);
}

void connection_init(struct connection *c, struct connection_kind *kind, int fd)
{
    static uint64_t last_number;

    *c = (struct connection){.kind = kind, .number = ++last_number, .fd = fd};
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
