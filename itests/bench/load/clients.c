#include "itests/bench/load/clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/secure.h"

#define READ_BYTES     262144
#define EVENTS_AT_ONCE 256

static char scratch[READ_BYTES]; /* what is read, until it is looked at */

/* ---- out ---- */

static void set_events(struct client *c, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = &c->watch};

    if (epoll_ctl(c->all->epoll_fd, EPOLL_CTL_MOD, c->watch.fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

static ssize_t write_some(struct client *c)
{
    return c->secure ? secure_write(c->secure, c->out.at, c->out.len)
                     : write(c->watch.fd, c->out.at, c->out.len);
}

static void flush(struct client *c)
{
    ssize_t n = write_some(c);
    bool is_blocked;

    if (n < 0 && errno != EAGAIN)
        die("a connection is lost: %s", strerror(errno));
    if (n > 0) {
        c->all->bytes_sent += (uint64_t)n;
        buf_drop(&c->out, (size_t)n);
    }
    is_blocked = c->out.len > 0;
    if (is_blocked != c->is_blocked)
        set_events(c, is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
    c->is_blocked = is_blocked;
}

static void flush_all(struct clients *cs)
{
    while (cs->dirty) {
        struct client *c = cs->dirty;

        cs->dirty = c->dirty;
        c->is_dirty = false;
        if (!c->is_blocked)
            flush(c);
    }
}

static void mark_dirty(struct client *c)
{
    if (c->is_dirty)
        return;
    c->is_dirty = true;
    c->dirty = c->all->dirty;
    c->all->dirty = c;
}

void place_ask(struct place *p)
{
    struct client *c = p->client;

    p->question.tag = (unsigned)(p - c->places);
    c->all->protocol->ask(&c->out, &p->question);
    p->is_waiting = true;
    if (c->all->protocol->is_in_order) {
        p->next = NULL;
        *(c->oldest ? &c->newest->next : &c->oldest) = p;
        c->newest = p;
    }
    mark_dirty(c);
}

/* ---- in ---- */

static struct place *take_oldest(struct client *c)
{
    struct place *p = c->oldest;

    if (p)
        c->oldest = p->next;
    return p;
}

static struct place *place_of(struct client *c, const struct answer *a)
{
    struct place *p = NULL;

    if (c->all->protocol->is_in_order)
        p = take_oldest(c);
    else if (a->tag < c->all->places_each)
        p = &c->places[a->tag];
    if (!p || !p->is_waiting)
        die("an answer to nothing: %.*s", BYTES_ARG(a->text));
    p->is_waiting = false;
    return p;
}

/* Calls back for each complete answer; what remains is the beginning of the next. */
static struct bytes take_answers(struct client *c, struct bytes in)
{
    struct answer a;
    size_t used;

    while (in.len > 0 && (used = c->all->protocol->take(in, &a)) > 0) {
        c->all->on_answer(place_of(c, &a), &a);
        in.at += used;
        in.len -= used;
    }
    return in;
}

static ssize_t read_some(struct client *c)
{
    return c->secure ? secure_read(c->secure, scratch, sizeof(scratch))
                     : read(c->watch.fd, scratch, sizeof(scratch));
}

/* Nearly always an answer comes whole: then it is looked at where it was read to. Of
 * TLS one record is read, and nothing decrypted is left. */
static void receive(struct client *c)
{
    ssize_t n = read_some(c);
    struct bytes rest;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("a connection is lost: %s", n ? strerror(errno) : "the server closed it");
    c->all->bytes_received += (uint64_t)n;
    if (c->in.len == 0) {
        rest = take_answers(c, bytes_of(scratch, (size_t)n));
        buf_add_bytes(&c->in, rest);
    } else {
        buf_add(&c->in, scratch, (size_t)n);
        rest = take_answers(c, buf_bytes(&c->in));
        buf_drop(&c->in, c->in.len - rest.len);
    }
}

static void on_client_event(struct watch *w, uint32_t events)
{
    struct client *c = CONTAINER_OF(w, struct client, watch);

    if (events & EPOLLOUT)
        flush(c);
    if (events & ~(uint32_t)EPOLLOUT)
        receive(c);
}

static struct bytes keep(char room[WORD_ROOM], struct bytes text)
{
    if (text.len > WORD_ROOM)
        die("too long to keep: %.*s", BYTES_ARG(text));
    if (text.len > 0)
        memcpy(room, text.at, text.len);
    return bytes_of(room, text.len);
}

void place_keep_job(struct place *p, const struct answer *a)
{
    if (a->job.id.len == 0)
        die("there is no job in %.*s", BYTES_ARG(a->text));
    p->question.job = (struct handed){.id = keep(p->id, a->job.id),
                                      .topic = keep(p->topic, a->job.topic),
                                      .lease = keep(p->lease, a->job.lease)};
}

/* ---- the loop ---- */

static void allow_descriptors(unsigned count)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < count + 32)
        die("%u connections, but only %llu descriptors (ulimit -Hn)", count,
            (unsigned long long)limit.rlim_max);
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

/* Waits for the server, as connecting does. */
static void begin_tls(struct client *c)
{
    c->secure = secure_new(c->watch.fd, false);
    if (!secure_shake(c->secure))
        die("the TLS handshake failed");
}

static void open_client(struct clients *cs, unsigned number, int64_t port)
{
    struct client *c = &cs->all[number];

    *c = (struct client){.watch = {connect_to(port), on_client_event},
                         .all = cs,
                         .places = &cs->places[number * cs->places_each]};
    if (cs->is_secure)
        begin_tls(c);
    fcntl(c->watch.fd, F_SETFL, O_NONBLOCK);
    for (unsigned i = 0; i < cs->places_each; i++)
        c->places[i].client = c;
    if (!clients_watch(cs, &c->watch))
        die("epoll_ctl: %s", strerror(errno));
}

void clients_open(struct clients *cs, int64_t port, unsigned count, unsigned places_each)
{
    allow_descriptors(count);
    cs->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    cs->count = count;
    cs->places_each = places_each;
    cs->all = must_calloc(count, sizeof(*cs->all));
    cs->places = must_calloc((int64_t)count * places_each, sizeof(*cs->places));
    cs->dirty = NULL;
    for (unsigned i = 0; i < count; i++)
        open_client(cs, i, port ? port : cs->protocol->usual_port);
    cs->now_us = clock_mono_us();
}

void clients_close(struct clients *cs)
{
    for (unsigned i = 0; i < cs->count; i++) {
        if (cs->all[i].secure)
            secure_free(cs->all[i].secure);
        close(cs->all[i].watch.fd);
        buf_fini(&cs->all[i].in);
        buf_fini(&cs->all[i].out);
    }
    free(cs->all);
    free(cs->places);
    close(cs->epoll_fd);
}

bool clients_watch(struct clients *cs, struct watch *w)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

    return epoll_ctl(cs->epoll_fd, EPOLL_CTL_ADD, w->fd, &event) == 0;
}

void clients_unwatch(struct clients *cs, struct watch *w)
{
    epoll_ctl(cs->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
}

void clients_turn(struct clients *cs, int64_t wait_us)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    struct timespec wait = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
    int n;

    flush_all(cs);
    n = epoll_pwait2(cs->epoll_fd, events, EVENTS_AT_ONCE, &wait, NULL);
    cs->now_us = clock_mono_us();
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;

        w->on_event(w, events[i].events);
    }
}
