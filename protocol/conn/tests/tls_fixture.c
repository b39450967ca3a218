#include "protocol/conn/tests/tls_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture *fixture_of(struct connection *c)
{
    return CONTAINER_OF(c->kind, struct fixture, kind);
}

static size_t on_input(struct connection *c, struct bytes input)
{
    buf_add_bytes(&fixture_of(c)->heard, input);
    if (!fixture_of(c)->is_mute)
        connection_send(c, input);
    return input.len;
}

static void on_closed(struct connection *c)
{
    CONTAINER_OF(c, struct pair, connection)->is_closed = true;
}

static void on_acked(struct connection *c)
{
}

int set_up(void **state)
{
    struct fixture *f = must(calloc(1, sizeof(*f)));

    f->loop = loop_new_ahead();
    f->kind = (struct connection_kind){
        .name = "test",
        .loop = f->loop,
        .on_input = on_input,
        .on_acked = on_acked,
        .on_closed = on_closed,
        .in_work_max = 1,
        .output_max_bytes = 1 << 24,
        .kept_max_bytes = 1 << 20,
        .unread_max_bytes = 1 << 24,
        .ending_ms = 5000,
        .ending_ack_ms = 5000,
        .shed = &f->shed,
        .tls = {.tls = tls_peer_server(f->loop),
                .mode = TLS_REQUIRED,
                .limit_ms = LIMIT_MS,
                .application = "dueq/1",
                .plain_refusal = BYTES("speak TLS"),
                .handshakes = &f->handshakes,
                .failures = &f->failures},
    };
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->kind.connections, 0);
    tls_free(f->kind.tls.tls);
    buf_fini(&f->heard);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void make_tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends[1], (struct sockaddr *)&address, sizeof(address)), 0);
    ends[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    assert_true(ends[0] >= 0);
    close(listener);
}

void join_plain(struct pair *p, struct fixture *f)
{
    int ends[2];

    make_tcp_pair(ends);
    *p = (struct pair){.f = f, .fd = ends[1]};
    connection_init(&p->connection, &f->kind, ends[0]);
}

void join(struct pair *p, struct fixture *f)
{
    join_plain(p, f);
    p->peer = tls_peer_new(p->fd);
}

void turn(struct fixture *f)
{
    event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    timers_run(&f->loop->timers, 0);
}

void pass(struct fixture *f, int64_t ms)
{
    struct timers *ts = &f->loop->timers;
    int64_t until_ms = timers_now(ts) + ms;

    while (ts->count && ts->heap[1]->due_mono_ms <= until_ms) {
        timers_run(ts, ts->heap[1]->due_mono_ms);
        turn(f);
    }
    timers_run(ts, until_ms);
    turn(f);
}

void open_pair(struct pair *p)
{
    AWAIT(p->f, tls_peer_is_open(p->peer));
    AWAIT(p->f, !connection_is_shaking(&p->connection));
}

void leave(struct pair *p)
{
    connection_close(&p->connection, "the test is over");
    AWAIT(p->f, p->is_closed);
    tls_peer_free(p->peer);
    close(p->fd);
}

void say(struct pair *p, const char *at, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = tls_peer_write(p->peer, at + done, len - done);

        assert_true(n > 0 || errno == EAGAIN);
        done += n > 0 ? (size_t)n : 0;
        turn(p->f);
    }
}

void expect(struct pair *p, const char *at, size_t len)
{
    char *heard = must(malloc(len + 1));
    size_t got = 0;

    while (got < len) {
        ssize_t n = tls_peer_read(p->peer, heard + got, len - got, MSG_DONTWAIT);

        assert_true(n > 0 || (n < 0 && errno == EAGAIN));
        got += n > 0 ? (size_t)n : 0;
        turn(p->f);
    }
    assert_memory_equal(heard, at, len);
    free(heard);
}

void echo(struct pair *p, const char *text)
{
    say(p, text, strlen(text));
    expect(p, text, strlen(text));
}

void say_raw(struct pair *p, const void *at, size_t len)
{
    assert_int_equal(send(p->fd, at, len, MSG_NOSIGNAL), len);
}

void expect_closed(struct pair *p)
{
    AWAIT(p->f, p->is_closed);
    tls_peer_free(p->peer);
    close(p->fd);
}
