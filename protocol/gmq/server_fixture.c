#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/gmq/server_fixture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"

#define PATIENCE_MS 10000

static int listen_on_loopback(uint16_t *port)
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

static int start(void **state, bool strict)
{
    static const struct queue_options queue_options = {.body_max_bytes = BODY_MAX,
                                                       .waiting_max = 1000,
                                                       .scan_batch = 100,
                                                       .scan_interval_ms = 1000};
    static const struct log_options quiet = {.level = LEVEL_WARN, .modules = ""};
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    f->loop = loop_new();
    f->ms = memory_store_new(&f->loop->timers, 4);
    f->queue = queue_new(&queue_options, memory_store_port(f->ms), &f->loop->timers);
    queue_activate(f->queue);
    f->options = (struct gmq_options){
        .strict = strict,
        .pop_wait_ms = 2000,
        .body_max_bytes = BODY_MAX,
        .connections_max = 8,
        .pipelined_max = 4,
        .output_max_bytes = 65536,
    };
    f->gmq = gmq_new(&f->options, f->loop, f->queue, listen_on_loopback(&f->port));
    *state = f;
    return 0;
}

int fixture_up(void **state)
{
    return start(state, false);
}

int fixture_up_strict(void **state)
{
    return start(state, true);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

void fixture_stop_gmq(struct fixture *f)
{
    gmq_stop(f->gmq, set_flag, &f->is_gmq_stopped);
    f->is_gmq_stopping = true;
}

int fixture_down(void **state)
{
    struct fixture *f = *state;

    memory_store_unhold(f->ms);
    if (!f->is_gmq_stopping)
        fixture_stop_gmq(f);
    fixture_pass(f, 100);
    AWAIT(f, f->is_gmq_stopped);
    queue_stop(f->queue, set_flag, &f->is_queue_stopped);
    AWAIT(f, f->is_queue_stopped);
    assert_int_equal(memory_store_in_flight(f->ms), 0);
    gmq_free(f->gmq);
    queue_free(f->queue);
    memory_store_free(f->ms);
    loop_free(f->loop);
    free(f);
    return 0;
}

/* ---- time ---- */

void fixture_turn(struct fixture *f)
{
    event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    timers_run(&f->loop->timers, clock_mono_ms());
}

void fixture_pass(struct fixture *f, int64_t ms)
{
    int64_t until_ms = timers_now(&f->loop->timers) + ms;
    struct timers *ts = &f->loop->timers;

    fixture_turn(f);
    while (ts->count && ts->heap[1]->due_mono_ms <= until_ms) {
        timers_run(ts, ts->heap[1]->due_mono_ms);
        fixture_turn(f);
    }
    timers_run(ts, until_ms);
    fixture_turn(f);
}

struct patience patience_start(struct fixture *f)
{
    return (struct patience){f, clock_mono_ms() + PATIENCE_MS};
}

void patience_try(struct patience *p)
{
    struct timeval most = {0, 1000};

    if (clock_mono_ms() > p->until_mono_ms)
        fail_msg("waited in vain");
    /* Until something happens; a thousandth at most, for what happens to no descriptor. */
    event_base_loopexit(p->f->loop->base, &most);
    event_base_loop(p->f->loop->base, EVLOOP_ONCE);
    fixture_turn(p->f);
}

/* ---- clients ---- */

struct client connect_client(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(f->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct client c = {f, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    uint64_t before = gmq_stats(f->gmq)->accepted + gmq_stats(f->gmq)->turned_away;

    assert_true(c.fd >= 0);
    assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    AWAIT(f, gmq_stats(f->gmq)->accepted + gmq_stats(f->gmq)->turned_away > before);
    return c;
}

void leave(struct client *c)
{
    close(c->fd);
    c->fd = -1;
}

void end_sending(struct client *c)
{
    assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
}

void say_bytes(struct client *c, const char *at, size_t len)
{
    while (len) {
        ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else {
            assert_int_equal(errno, EAGAIN);
            fixture_turn(c->f);
        }
    }
}

void say(struct client *c, const char *text)
{
    say_bytes(c, text, strlen(text));
}

size_t receive_some(struct client *c, char *at, size_t room)
{
    ssize_t n = -1;

    AWAIT(c->f, (n = recv(c->fd, at, room, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    assert_true(n >= 0);
    return (size_t)n;
}

void expect(struct client *c, const char *reply)
{
    char *got = calloc(1, strlen(reply) + 2);
    size_t len = receive_some(c, got, strlen(reply));

    assert_string_equal(got, reply);
    assert_int_equal(len, strlen(reply));
    free(got);
}

void expect_silence(struct client *c)
{
    char byte;

    for (unsigned i = 0; i < 20; i++)
        fixture_turn(c->f);
    assert_int_equal(recv(c->fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

void expect_end(struct client *c)
{
    char byte;

    assert_int_equal(receive_some(c, &byte, 1), 0);
}
