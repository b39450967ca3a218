#include "ha/coord/zk_probe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"

#define PATIENCE_MS 10000 /* for the end of the second session, which nobody waits for */
#define LOOK_MS     2

static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_probe *p = context;

    if (type != ZOO_SESSION_EVENT || !p->io.handle)
        return;
    if (state != ZOO_CONNECTED_STATE)
        p->served_mono_ms = 0;
    else if (!p->served_mono_ms)
        p->served_mono_ms = timers_now(&p->io.loop->timers);
}

bool zk_probe_tick(struct zk_probe *p, const char *servers, int64_t session_ms)
{
    struct zk_target target = {
        .servers = servers, .session_ms = session_ms, .on_watch = on_watch, .context = p};

    /* A second session that is over, because the servers went away again, begins anew. */
    if (p->io.handle && is_unrecoverable(p->io.handle))
        zk_probe_stop(p);
    if (!p->io.handle && *servers && zk_io_start(&p->io, &target) != STATUS_OK)
        return false;
    return p->served_mono_ms &&
           timers_now(&p->io.loop->timers) >= p->served_mono_ms + 2 * session_ms;
}

void zk_probe_stop(struct zk_probe *p)
{
    p->served_mono_ms = 0;
    zk_io_stop(&p->io, PATIENCE_MS);
}

void zk_probe_fini(struct zk_probe *p)
{
    zk_io_fini(&p->io);
}

void zk_probe_init(struct zk_probe *p, struct loop *loop)
{
    p->served_mono_ms = 0;
    zk_io_init(&p->io, loop, NULL);
}

/* ---- tickTime ---- */

/* The number in a line "tickTime=2000"; 0: there is no such line. */
static int64_t find_tick(const char *text)
{
    static const char key[] = "tickTime=";
    long tick_ms;

    for (const char *at = text; (at = strstr(at, key)); at++) {
        if (at > text && at[-1] != '\n')
            continue;
        tick_ms = strtol(at + sizeof(key) - 1, NULL, 10);
        return tick_ms > 0 && tick_ms <= INT32_MAX ? tick_ms : 0;
    }
    return 0;
}

/* True: the server will send no more. */
static bool read_conf(struct zk_conf *c)
{
    ssize_t got;

    while ((got = recv(c->fd, c->text + c->len, sizeof(c->text) - 1 - c->len, MSG_DONTWAIT)) >
           0)
        c->len += (size_t)got;
    return got == 0 || errno != EAGAIN;
}

/* True: the question has ended, with an answer or without. */
static bool go_on(struct zk_conf *c)
{
    struct pollfd poll_fd = {.fd = c->fd, .events = POLLOUT};

    if (!c->is_sent && poll(&poll_fd, 1, 0) == 1) {
        if (send(c->fd, "conf", 4, MSG_NOSIGNAL) != 4)
            return true;
        c->is_sent = true;
    }
    return c->is_sent && read_conf(c);
}

static void on_look(struct timer *timer)
{
    struct zk_conf *c = CONTAINER_OF(timer, struct zk_conf, timer);

    if (c->fd >= 0 && !go_on(c) && timers_now(&c->loop->timers) < c->until_mono_ms) {
        timer_arm(&c->loop->timers, timer, LOOK_MS);
        return;
    }
    zk_conf_stop(c);
    c->text[c->len] = '\0';
    c->on_tick(c, find_tick(c->text));
}

void zk_conf_start(struct zk_conf *c, const struct sockaddr *server, socklen_t size,
                   int64_t patience_ms)
{
    zk_conf_stop(c);
    c->len = 0;
    c->is_sent = false;
    c->until_mono_ms = timers_now(&c->loop->timers) + patience_ms;
    c->fd = socket(server->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd >= 0 && connect(c->fd, server, size) != 0 && errno != EINPROGRESS) {
        close(c->fd);
        c->fd = -1;
    }
    timer_arm(&c->loop->timers, &c->timer, 0);
}

bool zk_conf_is_asking(const struct zk_conf *c)
{
    return timer_is_armed(&c->timer);
}

void zk_conf_stop(struct zk_conf *c)
{
    timer_disarm(&c->loop->timers, &c->timer);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

void zk_conf_init(struct zk_conf *c, struct loop *loop,
                  void (*on_tick)(struct zk_conf *c, int64_t tick_ms))
{
    c->loop = loop;
    c->fd = -1;
    c->on_tick = on_tick;
    timer_init(&c->timer, on_look);
}
