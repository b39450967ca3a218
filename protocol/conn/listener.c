#include "protocol/conn/listener.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"

#define BREAK_MS   100   /* after EMFILE and the like: else the loop would spin */
#define WARNING_MS 10000 /* between two of its warnings */

/* Refused on other than TCP sockets, which need none of it. */
static void set_tcp_options(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 5},  /* s of silence, */
        {IPPROTO_TCP, TCP_KEEPINTVL, 1}, /* s between probes, */
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   /* unanswered ones */
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, LISTENER_UNSENT_BYTES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 8000}, /* ms that sent bytes stay unacknowledged; it
                                                * overrides the count of probes: 5 + 3 x 1 s */
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
}

static void have_a_break(struct listener *l)
{
    int64_t now_mono_ms = timers_now(&l->loop->timers);

    if (now_mono_ms >= l->next_warning_mono_ms) {
        LOG_WARN(l->name, "cannot accept clients, trying again: %s", strerror(errno));
        l->next_warning_mono_ms = now_mono_ms + WARNING_MS;
    }
    event_del(l->acceptable);
    timer_arm(&l->loop->timers, &l->timer, BREAK_MS);
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct listener, timer)->acceptable, NULL);
}

/* A client that left while it waited is no failure of ours. */
static bool is_clients_fault(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == ENETUNREACH || error == EHOSTUNREACH;
}

/* At most so many. */
static void accept_some(struct listener *l, unsigned most)
{
    for (unsigned i = 0; i < most && l->acceptable; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            set_tcp_options(fd);
            l->on_accept(l, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (!is_clients_fault(errno)) {
            have_a_break(l);
            return;
        }
    }
}

static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct listener *l = arg;

    loop_touch(l->loop);
    accept_some(l, LISTENER_ACCEPTS_PER_TURN);
}

void listener_accept(struct listener *l)
{
    accept_some(l, UINT_MAX);
}

void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd))
{
    *l = (struct listener){.name = name, .loop = loop, .fd = fd, .on_accept = on_accept};
    timer_init(&l->timer, on_break_over);
    evutil_make_socket_nonblocking(fd);
    l->acceptable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_acceptable, l);
    if (!l->acceptable)
        abort();
    event_add(l->acceptable, NULL);
}

void listener_stop(struct listener *l)
{
    if (!l->acceptable)
        return;
    timer_disarm(&l->loop->timers, &l->timer);
    event_free(l->acceptable);
    l->acceptable = NULL;
    close(l->fd);
}
