#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/http/server_fixture.h"

#include <errno.h>
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

static const char *why_not_ready(void *arg)
{
    const struct fixture *f = arg;

    return f->why_not_ready;
}

static void read_store(void *arg, struct http_store_numbers *numbers)
{
    numbers->round_trips = 42;
}

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

int fixture_up(void **state)
{
    static const struct queue_options queue_options = {.body_max_bytes = JOB_BODY_MAX,
                                                       .waiting_max = 1000,
                                                       .scan_batch = 100,
                                                       .scan_interval_ms = 1000};
    static const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    f->loop = loop_new();
    f->options = (struct http_options){
        .connections_max = 3,
        .request_ms = 60000,
        .body_max_bytes = 200000,
        .bodies_max_bytes = 300000,
        .node = {.why_not_ready = why_not_ready, .read_store = read_store, .arg = f},
    };
    f->ms = memory_store_new(&f->loop->timers, 4);
    f->queue = queue_new(&queue_options, memory_store_port(f->ms), &f->loop->timers);
    queue_activate(f->queue);
    f->http = http_new(&f->options, f->loop, f->queue, listen_on_loopback(&f->port));
    fixture_turn(f); /* the store is up */
    *state = f;
    return 0;
}

static void set_flag(void *arg)
{
    assert_false(*(bool *)arg);
    *(bool *)arg = true;
}

void fixture_stop(struct fixture *f)
{
    f->is_stopping = true;
    http_stop(f->http, set_flag, &f->is_stopped);
}

int fixture_down(void **state)
{
    struct fixture *f = *state;

    if (!f->is_stopping)
        fixture_stop(f);
    fixture_pass(f, 3000);
    assert_true(f->is_stopped);
    assert_int_equal(http_stats(f->http)->connections, 0);
    http_free(f->http);
    queue_stop(f->queue, set_flag, &f->is_queue_stopped);
    AWAIT(f, f->is_queue_stopped);
    queue_free(f->queue);
    memory_store_free(f->ms);
    loop_free(f->loop);
    buf_fini(&f->reply);
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

struct client dial(struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(f->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct client c = {f, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    assert_true(c.fd >= 0);
    assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return c;
}

struct client connect_client(struct fixture *f)
{
    const struct http_stats *stats = http_stats(f->http);
    uint64_t before = stats->accepted + stats->turned_away;
    struct client c = dial(f);

    AWAIT(f, stats->accepted + stats->turned_away > before);
    return c;
}

void leave(struct client *c)
{
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

void say_bytes(struct client *c, struct bytes bytes)
{
    while (bytes.len) {
        ssize_t n = send(c->fd, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            bytes = bytes_of(bytes.at + n, bytes.len - (size_t)n);
        } else {
            assert_int_equal(errno, EAGAIN);
            fixture_turn(c->f);
        }
    }
}

void say(struct client *c, const char *text)
{
    say_bytes(c, bytes_of_text(text));
}

bool receive_some(struct client *c, size_t most)
{
    struct buf *reply = &c->f->reply;
    char *to = buf_reserve(reply, most);
    ssize_t n = -1;

    AWAIT(c->f, (n = recv(c->fd, to, most, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    assert_true(n >= 0);
    reply->len += (size_t)n;
    return n > 0;
}

const char *receive(struct client *c)
{
    struct buf *reply = &c->f->reply;
    const char *length;
    size_t whole;

    buf_clear(reply);
    while (!strstr(buf_text(reply), "\r\n\r\n"))
        assert_true(receive_some(c, 1));
    length = strstr(buf_text(reply), "Content-Length: ");
    whole = reply->len + (length ? strtoul(length + 16, NULL, 10) : 0);
    while (reply->len < whole)
        assert_true(receive_some(c, whole - reply->len));
    return buf_text(reply);
}

const char *receive_all(struct client *c)
{
    buf_clear(&c->f->reply);
    while (receive_some(c, 65536))
        ;
    return buf_text(&c->f->reply);
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
    assert_string_equal(receive_all(c), "");
}

const char *ask(struct fixture *f, const char *text)
{
    struct client c = connect_client(f);
    const char *reply;

    say(&c, text);
    reply = receive_all(&c);
    leave(&c);
    return reply;
}

void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("'%s' does not start with '%s'", text, start);
}

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' has no '%s'", text, part);
}
