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
#define ZK_CLOSE_WAIT_MS 100 /* where no loop turns any more */

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

static void cut(struct zk_drain *f)
{
    timer_disarm(&f->loop->timers, &f->timer);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static void on_timer(struct timer *timer)
{
    struct zk_drain *f = CONTAINER_OF(timer, struct zk_drain, timer);
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

void zk_drain_init(struct zk_drain *f, struct loop *loop,
                   void (*on_end)(struct zk_drain *f, bool is_over))
{
    *f = (struct zk_drain){.loop = loop, .fd = -1, .on_end = on_end};
    timer_init(&f->timer, on_timer);
}

void zk_drain_fini(struct zk_drain *f)
{
    cut(f);
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

void zk_drain_start(struct zk_drain *f, int fd, int64_t patience_ms)
{
    cut(f);
    f->fd = fd;
    f->until_mono_ms = timers_now(&f->loop->timers) + patience_ms;
    timer_arm(&f->loop->timers, &f->timer, 0);
}

bool zk_drain_is_under_way(const struct zk_drain *f)
{
    return f->fd >= 0;
}

void zk_drain_wait(struct zk_drain *f, int64_t ms)
{
    int64_t until_mono_ms = clock_mono_ms() + ms;

    while (f->fd >= 0 && !has_hung_up(f->fd) && clock_mono_ms() < until_mono_ms)
        poll(NULL, 0, 1);
    cut(f);
}

/* The library's own words are for those who debug it: ours say what an operator needs. */
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

/* The library keeps the errno of the call that failed, but says so nowhere: only for words. */
static void note_error(struct zk_io *p, int error, int system_error)
{
    const char *words = words_of(error, system_error);
    const char *server = zoo_get_current_server(p->handle);

    snprintf(p->why, sizeof(p->why), "%s %s", words, server ? server : "the servers");
}

/* ---- client I/O ---- */

static void forget_event(struct zk_io *p)
{
    if (p->event)
        event_free(p->event);
    p->event = NULL;
}

static void on_event(evutil_socket_t fd, short what, void *arg);

static void watch(struct zk_io *p, int interest, const struct timeval *patience)
{
    short what = (short)((interest & ZOOKEEPER_READ ? EV_READ : 0) |
                         (interest & ZOOKEEPER_WRITE ? EV_WRITE : 0));

    p->event = event_new(p->loop->base, p->fd, what, on_event, p);
    if (!p->event || event_add(p->event, patience))
        abort();
}

/* What is stopped, or whose session is over, has nothing to wait for. */
static void ask_again_after(struct zk_io *p, int64_t delay_ms)
{
    if (p->handle && !is_unrecoverable(p->handle))
        timer_arm(&p->loop->timers, &p->timer, delay_ms);
}

static void ask(struct zk_io *p)
{
    struct timeval patience = {0, 0};
    int interest = 0, error;

    forget_event(p);
    p->fd = -1;
    errno = 0;
    p->is_inside = true;
    error = zookeeper_interest(p->handle, &p->fd, &interest, &patience);
    p->is_inside = false;
    if (error != ZOK) {
        note_error(p, error, errno);
        p->fd = -1;
        ask_again_after(p, ZK_RETRY_MS);
    } else if (p->fd >= 0) {
        watch(p, interest, &patience);
    } else { /* all servers were tried: it rests before the next round */
        ask_again_after(p, patience.tv_sec * 1000 + patience.tv_usec / 1000);
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct zk_io *p = arg;
    int error;

    loop_touch(p->loop);
    forget_event(p);
    errno = 0;
    p->is_inside = true;
    error = zookeeper_process(p->handle, (what & EV_READ ? ZOOKEEPER_READ : 0) |
                                             (what & EV_WRITE ? ZOOKEEPER_WRITE : 0));
    p->is_inside = false;
    if (error != ZOK && error != ZNOTHING)
        note_error(p, error, errno);
    ask_again_after(p, 0);
}

static void on_ask(struct timer *timer)
{
    ask(CONTAINER_OF(timer, struct zk_io, timer));
}

void zk_io_poke(struct zk_io *p)
{
    ask_again_after(p, 0);
}

/* ---- start and stop ---- */

void zk_io_init(struct zk_io *p, struct loop *loop,
                void (*on_drained)(struct zk_drain *f, bool is_over))
{
    *p = (struct zk_io){.loop = loop, .fd = -1};
    timer_init(&p->timer, on_ask);
    zk_drain_init(&p->drain, loop, on_drained);
}

/* The library wants IPv6 addresses without brackets. */
static char *without_brackets(const char *servers)
{
    char *text = malloc(strlen(servers) + 1), *to = text;

    if (!text)
        abort();
    for (; *servers; servers++)
        if (*servers != '[' && *servers != ']')
            *to++ = *servers;
    *to = '\0';
    return text;
}

enum status zk_io_start(struct zk_io *p, const struct zk_target *target)
{
    char *servers = without_brackets(target->servers);
    clientid_t id = {0};

    if (target->resume) {
        id.client_id = target->resume->session;
        memcpy(id.passwd, target->resume->password, sizeof(id.passwd));
    }
    zoo_set_debug_level(log_is_on(LEVEL_DEBUG, "zookeeper") ? ZOO_LOG_LEVEL_INFO
                                                            : ZOO_LOG_LEVEL_ERROR);
    p->handle =
        zookeeper_init2(servers, target->on_watch, (int)target->session_ms,
                        target->resume ? &id : NULL, target->context, 0, on_library_log);
    explicit_bzero(&id, sizeof(id));
    free(servers);
    p->why[0] = '\0';
    if (!p->handle) {
        snprintf(p->why, sizeof(p->why), "the client library does not take %.64s: %s",
                 target->servers, strerror(errno));
        return STATUS_IO_ERROR;
    }
    zoo_set_servers_resolution_delay(p->handle, -1);
    zk_io_poke(p);
    return STATUS_OK;
}

void zk_io_set_servers(struct zk_io *p, const char *servers)
{
    char *list = without_brackets(servers);

    if (zoo_set_servers(p->handle, list) != ZOK)
        LOG_WARN("zookeeper", "the client library does not take %s", servers);
    free(list);
    zk_io_poke(p);
}

/* Only what is connected is closed with a good-bye. */
static int keep_open(const struct zk_io *p)
{
    if (!p->handle || zoo_state(p->handle) != ZOO_CONNECTED_STATE)
        return -1;
    return zk_drain_prepare(p->fd);
}

bool zk_io_stop(struct zk_io *p, int64_t patience_ms)
{
    zhandle_t *handle = p->handle;
    int kept = keep_open(p);

    assert(!p->is_inside);
    forget_event(p);
    timer_disarm(&p->loop->timers, &p->timer);
    p->handle = NULL; /* nobody is called back about the session any more */
    if (handle)
        zookeeper_close(handle);
    p->fd = -1;
    if (kept >= 0)
        zk_drain_start(&p->drain, kept, patience_ms);
    return kept >= 0;
}

void zk_io_fini(struct zk_io *p)
{
    zk_io_stop(p, 0);
    zk_drain_wait(&p->drain, ZK_CLOSE_WAIT_MS);
}
