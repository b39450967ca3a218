#include "protocol/conn/proxied.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "protocol/conn/proxy.h"

#define PROXY_WARNING_MS 60000

struct arriving {
    struct list link;
    struct proxied *all;
    int fd;
    struct peer_end proxy;
    struct event *readable;
    struct timer timer;
    struct buf header; /* so far */
};

static void arriving_free(struct arriving *a)
{
    timer_disarm(&a->all->loop->timers, &a->timer);
    event_free(a->readable);
    list_remove(&a->link);
    a->all->count--;
    buf_fini(&a->header);
    free(a);
}

static void tell_of_proxy(struct proxied *p, const struct peer_end *proxy, const char *what)
{
    int64_t now_mono_ms = timers_now(&p->loop->timers);
    struct buf from = BUF_INIT;

    ++*p->wrong;
    if (now_mono_ms < p->next_warning_mono_ms)
        return;
    p->next_warning_mono_ms = now_mono_ms + PROXY_WARNING_MS;
    peer_end_print(proxy, &from);
    LOG_WARN(p->name, "a connection from %s, which is in %s.proxies, %s: closed",
             buf_text(&from), p->name, what);
    buf_fini(&from);
}

static void turn_away(struct arriving *a, const char *what)
{
    int fd = a->fd;

    if (what)
        tell_of_proxy(a->all, &a->proxy, what);
    arriving_free(a);
    close(fd);
}

static void on_header_late(struct timer *timer)
{
    turn_away(CONTAINER_OF(timer, struct arriving, timer),
              "brings no PROXY header within 5 seconds");
}

static void take_arrived(struct arriving *a, const struct peer_end *client)
{
    struct proxied *p = a->all;
    int fd = a->fd;

    arriving_free(a);
    p->on_known(p, fd, client);
}

/* Takes no byte behind the header from the kernel. False: there is nothing to take now. */
static bool receive_header(struct arriving *a, size_t peeked, size_t used)
{
    size_t before = a->header.len - peeked;
    ssize_t n = recv(a->fd, a->header.at + before, used - before, MSG_DONTWAIT);

    return n == (ssize_t)(used - before);
}

static void hear(struct arriving *a)
{
    size_t room = PROXY_HEADER_MAX - a->header.len, used;
    ssize_t n = recv(a->fd, buf_reserve(&a->header, room), room, MSG_PEEK | MSG_DONTWAIT);
    struct peer_end client = a->proxy;
    enum proxy_result result;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* a check of the proxy's only connects */
        turn_away(a, a->header.len ? "ends within its PROXY header" : NULL);
        return;
    }
    a->header.len += (size_t)n;
    used = a->header.len;
    result = proxy_read(buf_bytes(&a->header), &client, &used);
    if (result == PROXY_BAD || !receive_header(a, (size_t)n, used))
        turn_away(a, "does not begin with a PROXY header");
    else if (result != PROXY_MORE)
        take_arrived(a, &client);
}

static void on_header(evutil_socket_t fd, short what, void *arg)
{
    struct arriving *a = arg;

    loop_touch(a->all->loop);
    hear(a);
}

void proxied_hear(struct proxied *p, int fd, const struct peer_end *proxy)
{
    struct arriving *a = must(calloc(1, sizeof(*a)));

    *a = (struct arriving){.all = p, .fd = fd, .proxy = *proxy};
    list_append(&p->arriving, &a->link);
    p->count++;
    timer_init(&a->timer, on_header_late);
    timer_arm(&p->loop->timers, &a->timer, PROXIED_MS);
    a->readable = event_new(p->loop->base, fd, EV_READ | EV_PERSIST, on_header, a);
    if (!a->readable)
        abort();
    event_add(a->readable, NULL);
    hear(a);
}

void proxied_forget(struct proxied *p)
{
    struct list *link;

    while ((link = list_first(&p->arriving)))
        turn_away(CONTAINER_OF(link, struct arriving, link), NULL);
}

void proxied_init(struct proxied *p)
{
    list_init(&p->arriving);
}

void proxied_set(struct proxied *p, struct bytes proxies)
{
    if (!networks_read(proxies, &p->proxies))
        p->proxies.count = 0;
}

bool proxied_is_from(const struct proxied *p, const struct peer_end *end)
{
    return networks_have(&p->proxies, &end->address);
}
