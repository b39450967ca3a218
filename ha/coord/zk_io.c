#include "ha/coord/zk_io.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define ZK_RETRY_MS      10  /* after an error of the library */
#define ZK_CLOSE_WAIT_MS 100 /* for processes whose loop does not run any more */

#define LOOK_MS 5

/* An answer that is a header only: the length 16; the number of the request, the number of the
 * newest change, and an error; all big-endian. Only the end of a session is answered so, and
 * pings, whose number is below 0. */
#define ANSWER_BYTES 20

/* Has the server hung up? A socket whose reading side is shut always polls as readable, so the
 * kernel is asked for the TCP state. */
static bool has_hung_up(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
           info.tcpi_state != TCP_ESTABLISHED;
}

/* Reads all bytes and judges the last ones: a server that has ended the session sends nothing
 * after that answer. The first bytes may be the rest of another answer. */
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

static void cut(struct zk_drain *d)
{
    timer_disarm(&d->loop->timers, &d->timer);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

static void on_timer(struct timer *timer)
{
    struct zk_drain *d = CONTAINER_OF(timer, struct zk_drain, timer);
    bool is_over;

    if (!has_hung_up(d->fd) && timers_now(&d->loop->timers) < d->until_mono_ms) {
        timer_arm(&d->loop->timers, timer, LOOK_MS);
        return;
    }
    is_over = is_confirmed(d->fd);
    cut(d);
    if (d->on_end)
        d->on_end(d, is_over);
}

void zk_drain_init(struct zk_drain *d, struct loop *loop,
                   void (*on_end)(struct zk_drain *d, bool is_over))
{
    *d = (struct zk_drain){.loop = loop, .fd = -1, .on_end = on_end};
    timer_init(&d->timer, on_timer);
}

int zk_drain_prepare(int fd)
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

void zk_drain_start(struct zk_drain *d, int fd, int64_t patience_ms)
{
    cut(d);
    d->fd = fd;
    d->until_mono_ms = timers_now(&d->loop->timers) + patience_ms;
    timer_arm(&d->loop->timers, &d->timer, 0);
}

void zk_drain_wait(struct zk_drain *d, int64_t ms)
{
    int64_t until_mono_ms = clock_mono_ms() + ms;

    while (d->fd >= 0 && !has_hung_up(d->fd) && clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, 1);
    cut(d);
}

/* The library's messages are for debugging; ours tell operators what they need. */
static void on_library_log(const char *message)
{
    LOG_DEBUG("zookeeper", "%s", message);
}

/* ---- what went wrong ---- */

static const char *words_of(int error, int system_error)
{
    static const struct {
        int system_error;
        const char *words;
    } table[] = {
        {ECONNREFUSED, "connection refused at"}, {EHOSTDOWN, "connection closed by"},
        {ECONNRESET, "connection reset by"},     {EPIPE, "connection closed by"},
        {EHOSTUNREACH, "no route to"},           {ENETUNREACH, "no route to"},
        {ETIMEDOUT, "no answer from"},
    };

    if (error == ZOPERATIONTIMEOUT)
        return "no answer from";
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].system_error == system_error)
            return table[i].words;
    return system_error ? strerror(system_error) : zerror(error);
}

/* The library leaves the errno of the failed call in place, which is not documented: use it for
 * messages only. */
static void note_error(struct zk_io *io, int error, int system_error)
{
    const char *words = words_of(error, system_error);
    const char *server = zoo_get_current_server(io->handle);

    snprintf(io->why, sizeof(io->why), "%s %s", words, server ? server : "the servers");
}

/* ---- client I/O ---- */

static void forget_event(struct zk_io *io)
{
    if (io->event)
        event_free(io->event);
    io->event = NULL;
}

static void on_event(evutil_socket_t fd, short what, void *arg);

static void watch(struct zk_io *io, int interest, const struct timeval *patience)
{
    short what = (short)((interest & ZOOKEEPER_READ ? EV_READ : 0) |
                         (interest & ZOOKEEPER_WRITE ? EV_WRITE : 0));

    io->event = event_new(io->loop->base, io->fd, what, on_event, io);
    if (!io->event)
        abort();
    loop_serve_first(io->event);
    if (event_add(io->event, patience))
        abort();
}

/* Not for a handle that is stopped, or whose session is over. */
static void ask_again_after(struct zk_io *io, int64_t delay_ms)
{
    if (io->handle && !is_unrecoverable(io->handle))
        timer_arm(&io->loop->timers, &io->timer, delay_ms);
}

static void ask(struct zk_io *io)
{
    struct timeval patience = {0, 0};
    int interest = 0, error;

    forget_event(io);
    io->fd = -1;
    errno = 0;
    io->is_inside = true;
    error = zookeeper_interest(io->handle, &io->fd, &interest, &patience);
    io->is_inside = false;
    if (error != ZOK) {
        note_error(io, error, errno);
        io->fd = -1;
        ask_again_after(io, ZK_RETRY_MS);
    } else if (io->fd >= 0) {
        watch(io, interest, &patience);
    } else { /* all servers were tried: the library rests before it tries again */
        ask_again_after(io, patience.tv_sec * 1000 + patience.tv_usec / 1000);
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct zk_io *io = arg;
    int error;

    loop_touch(io->loop);
    forget_event(io);
    errno = 0;
    io->is_inside = true;
    error = zookeeper_process(io->handle, (what & EV_READ ? ZOOKEEPER_READ : 0) |
                                              (what & EV_WRITE ? ZOOKEEPER_WRITE : 0));
    io->is_inside = false;
    if (error != ZOK && error != ZNOTHING)
        note_error(io, error, errno);
    ask_again_after(io, 0);
}

static void on_ask(struct timer *timer)
{
    ask(CONTAINER_OF(timer, struct zk_io, timer));
}

void zk_io_poke(struct zk_io *io)
{
    ask_again_after(io, 0);
}

/* ---- start and stop ---- */

void zk_io_init(struct zk_io *io, struct loop *loop,
                void (*on_drained)(struct zk_drain *d, bool is_over))
{
    *io = (struct zk_io){.loop = loop, .fd = -1};
    timer_init(&io->timer, on_ask);
    zk_drain_init(&io->drain, loop, on_drained);
}

/* The library wants IPv6 addresses without brackets. */
static char *without_brackets(const char *servers)
{
    char *text = must(malloc(strlen(servers) + 1)), *to = text;

    for (; *servers; servers++)
        if (*servers != '[' && *servers != ']')
            *to++ = *servers;
    *to = '\0';
    return text;
}

enum status zk_io_start(struct zk_io *io, const struct zk_target *target)
{
    char *servers = without_brackets(target->servers);
    clientid_t id = {0};

    if (target->resume) {
        id.client_id = target->resume->session;
        memcpy(id.passwd, target->resume->password, sizeof(id.passwd));
    }
    zoo_set_debug_level(log_is_on(LEVEL_DEBUG, "zookeeper") ? ZOO_LOG_LEVEL_INFO
                                                            : ZOO_LOG_LEVEL_ERROR);
    io->handle =
        zookeeper_init2(servers, target->on_watch, (int)target->session_ms,
                        target->resume ? &id : NULL, target->context, 0, on_library_log);
    explicit_bzero(&id, sizeof(id));
    free(servers);
    io->why[0] = '\0';
    if (!io->handle) {
        snprintf(io->why, sizeof(io->why), "the client library does not take %.64s: %s",
                 target->servers, strerror(errno));
        return STATUS_IO_ERROR;
    }
    zoo_set_servers_resolution_delay(io->handle, -1);
    zk_io_poke(io);
    return STATUS_OK;
}

void zk_io_set_servers(struct zk_io *io, const char *servers)
{
    char *list = without_brackets(servers);

    if (zoo_set_servers(io->handle, list) != ZOK)
        LOG_WARN("zookeeper", "the client library does not take %s", servers);
    free(list);
    zk_io_poke(io);
}

/* Only a connected session is closed at a server. */
static int keep_open(const struct zk_io *io)
{
    if (!io->handle || zoo_state(io->handle) != ZOO_CONNECTED_STATE)
        return -1;
    return zk_drain_prepare(io->fd);
}

bool zk_io_stop(struct zk_io *io, int64_t patience_ms)
{
    zhandle_t *handle = io->handle;
    int kept = keep_open(io);

    assert(!io->is_inside);
    forget_event(io);
    timer_disarm(&io->loop->timers, &io->timer);
    io->handle = NULL; /* no callback about the session any more */
    if (handle)
        zookeeper_close(handle);
    io->fd = -1;
    if (kept >= 0)
        zk_drain_start(&io->drain, kept, patience_ms);
    return kept >= 0;
}

void zk_io_fini(struct zk_io *io)
{
    zk_io_stop(io, 0);
    zk_drain_wait(&io->drain, ZK_CLOSE_WAIT_MS);
}
