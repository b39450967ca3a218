#include "ha/coord/zk_farewell.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"

#define LOOK_MS 5

/* An answer of nothing but its header: 16 bytes follow; number of the request, number of the
 * newest change, error; all big-endian. Only the end of a session is answered so, and the
 * client's own pings, whose number is below 0. */
#define ANSWER_BYTES 20

/* A shut reading side always polls as readable: so it is asked for its state. */
static bool has_hung_up(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
           info.tcpi_state != TCP_ESTABLISHED;
}

/* Reads what is left, and keeps the last bytes of it: a server that has ended the session sends
 * nothing after that answer. The beginning may be the rest of another answer. */
static bool is_confirmed(int fd)
{
    static const unsigned char length[] = {0, 0, 0, 16}, ok[] = {0, 0, 0, 0};
    unsigned char last[ANSWER_BYTES + 4096];
    size_t kept = 0;
    ssize_t got;

    while ((got = recv(fd, last + kept, sizeof(last) - kept, MSG_DONTWAIT)) > 0) {
        size_t all = kept + (size_t)got;

        kept = all < ANSWER_BYTES ? all : ANSWER_BYTES;
        memmove(last, last + all - kept, kept);
    }
    return kept == ANSWER_BYTES && !memcmp(last, length, 4) && !(last[4] & 0x80) &&
           !memcmp(last + ANSWER_BYTES - 4, ok, 4);
}

static void cut(struct zk_farewell *f)
{
    timer_disarm(&f->loop->timers, &f->timer);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static void on_timer(struct timer *timer)
{
    struct zk_farewell *f = CONTAINER_OF(timer, struct zk_farewell, timer);
    bool is_over;

    if (!has_hung_up(f->fd) && timers_now(&f->loop->timers) < f->until_mono_ms) {
        timer_arm(&f->loop->timers, timer, LOOK_MS);
        return;
    }
    is_over = is_confirmed(f->fd);
    cut(f);
    if (f->on_end)
        f->on_end(f, is_over);
}

void zk_farewell_init(struct zk_farewell *f, struct loop *loop,
                      void (*on_end)(struct zk_farewell *f, bool is_over))
{
    *f = (struct zk_farewell){.loop = loop, .fd = -1, .on_end = on_end};
    timer_init(&f->timer, on_timer);
}

void zk_farewell_fini(struct zk_farewell *f)
{
    cut(f);
}

int zk_farewell_prepare(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

    if (fd < 0)
        return -1;
    if (poll(&poll_fd, 1, 0) != 1) {
        shutdown(fd, SHUT_RDWR);
        return -1;
    }
    shutdown(fd, SHUT_RD);
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void zk_farewell_start(struct zk_farewell *f, int fd, int64_t patience_ms)
{
    cut(f);
    f->fd = fd;
    f->until_mono_ms = timers_now(&f->loop->timers) + patience_ms;
    timer_arm(&f->loop->timers, &f->timer, 0);
}

bool zk_farewell_is_under_way(const struct zk_farewell *f)
{
    return f->fd >= 0;
}

void zk_farewell_wait(struct zk_farewell *f, int64_t ms)
{
    int64_t until_mono_ms = clock_mono_ms() + ms;

    while (f->fd >= 0 && !has_hung_up(f->fd) && clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, 1);
    cut(f);
}
