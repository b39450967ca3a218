/* Serves the echo on a port of loopback: how much load can the generator itself make? */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "itests/bench/load/die.h"
#include "itests/bench/load/echo.h"
#include "itests/bench/load/modes.h"

#define FD_MAX     65536
#define READ_BYTES 65536
#define BACKLOG    4096
#define EVENTS     256

static struct {
    echo_function *echo;
    int epoll_fd, listen_fd;
    struct buf in[FD_MAX]; /* by descriptor; what is left of a request */
    struct buf out;
} run;

static bool watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(run.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void listen_on(int64_t port, const char *protocol)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int one = 1;

    run.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(run.listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(run.listen_fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(run.listen_fd, BACKLOG) != 0 ||
        getsockname(run.listen_fd, (struct sockaddr *)&at, &len) != 0)
        die("port %d: %s", (int)port, strerror(errno));
    printf("{\"mode\":\"echo\",\"protocol\":\"%s\",\"port\":%u}\n", protocol,
           ntohs(at.sin_port));
    fflush(stdout);
}

/* Standard input says nothing; it ends. */
static bool input_has_ended(void)
{
    char unused[64];

    return read(STDIN_FILENO, unused, sizeof(unused)) <= 0;
}

static void accept_one(void)
{
    int one = 1, fd = accept4(run.listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0 || fd >= FD_MAX || !watch(fd))
        die("accept: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void end(int fd)
{
    buf_fini(&run.in[fd]);
    run.in[fd] = (struct buf)BUF_INIT;
    close(fd);
}

/* The clients read whatever they are doing, so a blocking write ends soon. */
static void serve(int fd)
{
    struct buf *in = &run.in[fd];
    ssize_t n = read(fd, buf_reserve(in, READ_BYTES), READ_BYTES);
    size_t used = 0, length;

    if (n <= 0) {
        end(fd);
        return;
    }
    in->len += (size_t)n;
    buf_clear(&run.out);
    while ((length = run.echo(bytes_of(in->at + used, in->len - used), &run.out)) > 0)
        used += length;
    buf_drop(in, used);
    if (run.out.len > 0 && write(fd, run.out.at, run.out.len) < 0)
        end(fd);
}

void mode_echo(const struct options *o)
{
    struct epoll_event events[EVENTS];
    bool is_over = false;

    run.echo = echo_find(o->protocol);
    run.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    listen_on(o->port, o->protocol);
    if (!watch(run.listen_fd) || !watch(STDIN_FILENO))
        die("epoll_ctl: %s (standard input must be a pipe or a terminal)", strerror(errno));
    while (!is_over) {
        int n = epoll_wait(run.epoll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == STDIN_FILENO)
                is_over = input_has_ended();
            else if (events[i].data.fd == run.listen_fd)
                accept_one();
            else
                serve(events[i].data.fd);
        }
    }
}
