#include "itests/bench/load/clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"

#define READ_BYTES     65536
#define EVENTS_AT_ONCE 256

void die(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "dueq-load: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(1);
}

/* Calls back for each complete line, then drops them together. */
static void take_lines(struct client *c)
{
    size_t used = 0;
    char *end;

    while ((end = memchr(c->in.at + used, '\n', c->in.len - used))) {
        size_t len = (size_t)(end - c->in.at) - used;
        size_t line_at = used;

        used += len + 1;
        c->on_reply(c, bytes_of(c->in.at + line_at, len));
    }
    buf_drop(&c->in, used);
}

static void on_client_readable(struct watch *w)
{
    struct client *c = CONTAINER_OF(w, struct client, watch);
    ssize_t n = read(w->fd, buf_reserve(&c->in, READ_BYTES), READ_BYTES);

    if (n <= 0)
        die("connection %u is lost", c->number);
    c->in.len += (size_t)n;
    take_lines(c);
}

static int connect_to(int64_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("port %d: %s", (int)port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

void clients_watch(struct clients *cs, struct watch *w)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

    if (epoll_ctl(cs->epoll_fd, EPOLL_CTL_ADD, w->fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

void clients_open(struct clients *cs, int64_t port, unsigned count)
{
    *cs = (struct clients){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .count = count};
    cs->all = calloc(count, sizeof(*cs->all));
    if (cs->epoll_fd < 0 || !cs->all)
        die("no epoll or no memory");
    for (unsigned i = 0; i < count; i++) {
        struct client *c = &cs->all[i];

        c->number = i;
        c->watch = (struct watch){.fd = connect_to(port), .on_readable = on_client_readable};
        buf_init(&c->in);
        clients_watch(cs, &c->watch);
    }
    cs->now_us = clock_mono_us();
}

void clients_close(struct clients *cs)
{
    for (unsigned i = 0; i < cs->count; i++) {
        close(cs->all[i].watch.fd);
        buf_fini(&cs->all[i].in);
    }
    free(cs->all);
    close(cs->epoll_fd);
}

void clients_turn(struct clients *cs, int wait_ms)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(cs->epoll_fd, events, EVENTS_AT_ONCE, wait_ms);

    cs->now_us = clock_mono_us();
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;

        w->on_readable(w);
    }
}

void client_send(struct client *c, const char *text, size_t len)
{
    if (write(c->watch.fd, text, len) != (ssize_t)len)
        die("connection %u takes no more", c->number);
}
