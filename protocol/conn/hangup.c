#include "protocol/conn/hangup.h"

#include <stdlib.h>
#include <unistd.h>
#include <sys/epoll.h>

#include <event2/event.h>

#include "base/loop.h"

#define PER_TURN 64 /* then the rest of the loop has its turn */

/* One at a time: a callback may close any socket of the set, or the set. */
static void on_readable(evutil_socket_t epoll_fd, short what, void *arg)
{
    struct hangups *h = arg;
    struct epoll_event event;

    loop_touch(h->loop);
    for (unsigned i = 0; i < PER_TURN && h->readable; i++) {
        if (epoll_wait(epoll_fd, &event, 1, 0) <= 0)
            return;
        h->on_hangup(event.data.ptr);
    }
}

void hangups_init(struct hangups *h, struct loop *loop, void (*on_hangup)(void *arg))
{
    *h = (struct hangups){.loop = loop, .on_hangup = on_hangup};
}

static bool open_set(struct hangups *h)
{
    if (h->readable)
        return true;
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll_fd < 0)
        return false;
    h->readable = event_new(h->loop->base, h->epoll_fd, EV_READ | EV_PERSIST, on_readable, h);
    if (!h->readable)
        abort();
    event_add(h->readable, NULL);
    return true;
}

void hangups_fini(struct hangups *h)
{
    if (!h->readable)
        return;
    event_free(h->readable);
    close(h->epoll_fd);
    h->readable = NULL;
}

bool hangups_watch(struct hangups *h, int fd, void *arg)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = arg};

    return open_set(h) && (epoll_ctl(h->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 ||
                           epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
}

void hangups_forget(struct hangups *h, int fd)
{
    if (h->readable)
        (void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}
