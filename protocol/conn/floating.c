#include "protocol/conn/floating.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "protocol/conn/private.h"

#define TOLD_PER_TURN 200 /* then the rest of the loop has its turn: the lead is moving */

static bool is_over_it(const struct connection *c)
{
    return list_is_linked(&c->mover);
}

bool connection_is_draining(const struct connection *c)
{
    return is_over_it(c) && c->kind->floating->state != FLOATING_HERE;
}

static bool is_busy(const struct connection *c)
{
    return c->in_work || (c->kind->is_busy && c->kind->is_busy(c));
}

/* Nothing of a request has come, not even to the kernel. */
static bool asks_nothing(const struct connection *c)
{
    int unread = 0;

    return !is_busy(c) && stream_len(&c->input) == 0 && !connection_is_within_record(c) &&
           (ioctl(c->fd, SIOCINQ, &unread) != 0 || unread == 0);
}

/* A client that reads its reply slowly, or has acknowledged it to the next node, is not owed
 * one. */
static bool is_owed(const struct connection *c)
{
    return c->in_work || (c->state == CONNECTION_OPEN && !asks_nothing(c));
}

static bool is_one_owed(const struct list *connections)
{
    LIST_EACH (link, connections)
        if (is_owed(CONTAINER_OF(link, struct connection, mover)))
            return true;
    return false;
}

bool connections_are_owed(const struct connection_kind *kind)
{
    return kind->connections && (is_one_owed(&kind->untold) || is_one_owed(&kind->movers));
}

unsigned connections_floating(const struct connection_kind *kind)
{
    return kind->mover_count;
}

/* ---- one connection ---- */

static void wind_up(struct connection *c)
{
    connection_wind_up(c, "its address moves to another node");
}

/* A client that has just come has not had the time to ask. */
static void leave(struct connection *c)
{
    bool is_new = c->sent_bytes == 0;

    if (c->in_work && c->kind->on_end)
        c->kind->on_end(c);
    if (c->in_work || (!is_new && asks_nothing(c)))
        wind_up(c);
}

static void follow(struct connection *c)
{
    if (c->kind->floating->state == FLOATING_AWAY)
        connection_close(c, "its address is at another node");
    else if (c->kind->floating->state == FLOATING_DRAINING && c->state == CONNECTION_OPEN)
        leave(c);
}

void connection_start_floating(struct connection *c)
{
    struct connection_kind *kind = c->kind;
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);

    if (!kind->floating || getsockname(c->fd, (struct sockaddr *)&own, &len) != 0 ||
        !kind->floating->is_it(kind->floating->arg, (const struct sockaddr *)&own))
        return;
    list_append(&kind->movers, &c->mover);
    kind->mover_count++;
    if (kind->floating->state == FLOATING_AWAY)
        follow(c);
}

void connection_stop_floating(struct connection *c)
{
    c->kind->mover_count -= is_over_it(c);
    list_remove(&c->mover);
}

void connection_leave_behind_reply(struct connection *c, uint64_t sent_before)
{
    if (connection_is_draining(c) &&
        (c->in_work || (c->sent_bytes > sent_before && !is_busy(c))))
        wind_up(c);
}

/* ---- all of them ---- */

/* A callback may close other connections, too. */
static void tell_some(struct connection_kind *kind)
{
    struct list *link;

    for (unsigned i = 0; i < TOLD_PER_TURN && (link = list_pop(&kind->untold)); i++) {
        list_append(&kind->movers, link);
        follow(CONTAINER_OF(link, struct connection, mover));
    }
    if (!list_is_empty(&kind->untold))
        timer_arm(&kind->loop->timers, &kind->telling, 0);
}

static void on_telling(struct timer *timer)
{
    tell_some(CONTAINER_OF(timer, struct connection_kind, telling));
}

void connections_init_floating(struct connection_kind *kind)
{
    list_init(&kind->movers);
    list_init(&kind->untold);
    timer_init(&kind->telling, on_telling);
}

void connections_fini_floating(struct connection_kind *kind)
{
    timer_disarm(&kind->loop->timers, &kind->telling);
}

void connections_follow(struct connection_kind *kind, const struct floating *floating)
{
    kind->floating = floating;
    if (!kind->connections)
        return; /* and there is no list */
    list_append_all(&kind->untold, &kind->movers);
    tell_some(kind);
}
