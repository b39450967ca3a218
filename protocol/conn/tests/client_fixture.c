#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/conn/tests/client_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <openssl/ssl.h>

#include <event2/event.h>

#include "base/clock.h"
#include "protocol/conn/port.h"
#include "protocol/conn/tests/tls_peer.h"

#define PATIENCE_MS 60000

int listen_on_loopback(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int small = 4096; /* inherited by the connections: output waits in the server soon */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* ---- time ---- */

void turn_loop(struct loop *loop)
{
    struct timers *ts = &loop->timers;

    event_base_loop(loop->base, EVLOOP_NONBLOCK);
    while (timers_run(ts, timers_now(ts)) == 0) /* what is due, and what follows at once */
        ;
}

void pass_time(struct loop *loop, int64_t ms)
{
    int64_t until_ms = timers_now(&loop->timers) + ms;
    struct timers *ts = &loop->timers;

    turn_loop(loop);
    while (ts->count && ts->heap[1]->due_mono_ms <= until_ms) {
        timers_run(ts, ts->heap[1]->due_mono_ms);
        turn_loop(loop);
    }
    timers_run(ts, until_ms);
    turn_loop(loop);
}

struct patience patience_start(struct loop *loop)
{
    return (struct patience){loop, clock_mono_ms() + PATIENCE_MS};
}

void patience_try(struct patience *p)
{
    struct timeval most = {0, 1000};
    struct timers *ts = &p->loop->timers;

    if (clock_mono_ms() > p->until_mono_ms)
        fail_msg("waited in vain");
    /* Until something happens; a thousandth at most, for what happens to no descriptor. */
    event_base_loopexit(p->loop->base, &most);
    event_base_loop(p->loop->base, EVLOOP_ONCE);
    timers_run(ts, timers_now(ts) + 1);
    turn_loop(p->loop);
}

/* ---- TLS ---- */

#define TLS_TURNS 1000 /* a client that is refused is not waited for */

static bool is_tls_asked(void)
{
    return getenv("DUEQ_TEST_TLS") != NULL;
}

struct tls *serve_as_asked(struct port *port, struct loop *loop)
{
    struct tls *tls = is_tls_asked() ? tls_peer_server(loop) : NULL;

    if (tls)
        port_set_tls(port, tls, TLS_REQUIRED, 0);
    return tls;
}

void only_for_plain_clients(void)
{
    if (is_tls_asked())
        skip();
}

static void begin_tls(struct client *c)
{
    int on = 1;

    assert_int_equal(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    c->tls = tls_peer_new(c->fd);
    for (unsigned i = 0; i < TLS_TURNS && !tls_peer_is_open(c->tls); i++)
        turn_loop(c->loop);
}

static void end_tls(struct client *c)
{
    tls_peer_free(c->tls);
    c->tls = NULL;
}

static ssize_t send_some(struct client *c, struct bytes bytes)
{
    return c->tls ? tls_peer_write(c->tls, bytes.at, bytes.len)
                  : send(c->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t receive_some(struct client *c, char *to, size_t room)
{
    return c->tls ? tls_peer_read(c->tls, to, room, MSG_DONTWAIT)
                  : recv(c->fd, to, room, MSG_DONTWAIT);
}

/* ---- clients ---- */

struct bytes dial_header = BYTES("");

struct client dial_from(struct fixture *f, struct loop *loop, uint16_t port, unsigned host)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host)};
    struct client c = {
        .f = f, .loop = loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    assert_true(c.fd >= 0);
    assert_int_equal(bind(c.fd, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(c.fd, dial_header.at, dial_header.len, MSG_NOSIGNAL),
                     dial_header.len);
    if (is_tls_asked())
        begin_tls(&c);
    return c;
}

struct client dial_loopback(struct fixture *f, struct loop *loop, uint16_t port)
{
    return dial_from(f, loop, port, 1);
}

void leave(struct client *c)
{
    end_tls(c);
    close(c->fd);
    c->fd = -1;
}

void reset(struct client *c)
{
    struct linger at_once = {.l_onoff = 1};

    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    leave(c);
}

void end_sending(struct client *c)
{
    assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
}

void say_goodbye(struct client *c)
{
    if (c->tls)
        assert_int_equal(SSL_shutdown(tls_peer_library(c->tls)), 0);
    else
        end_sending(c);
}

void say_bytes(struct client *c, struct bytes bytes)
{
    while (bytes.len) {
        ssize_t n = send_some(c, bytes);

        if (n > 0) {
            bytes = bytes_of(bytes.at + n, bytes.len - (size_t)n);
        } else {
            assert_int_equal(errno, EAGAIN);
            turn_loop(c->loop);
        }
    }
}

void say(struct client *c, const char *text)
{
    say_bytes(c, bytes_of_text(text));
}

size_t receive_piece(struct client *c, char *at, size_t room)
{
    ssize_t n = -1;

    AWAIT(c, (n = receive_some(c, at, room)) >= 0 || errno != EAGAIN);
    assert_true(n >= 0);
    return (size_t)n;
}

void expect_silence(struct client *c)
{
    char byte;

    for (unsigned i = 0; i < 20; i++)
        turn_loop(c->loop);
    assert_int_equal(receive_some(c, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
}

void expect_end(struct client *c)
{
    char byte;

    assert_int_equal(receive_piece(c, &byte, 1), 0);
}
