/* What a connection does with TLS beside what it does without: connection_test.c has that, over
 * both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/log.h"
#include "base/tls_tickets.h"
#include "protocol/conn/tests/ahead.h"
#include "protocol/conn/tests/tls_peer.h"
#include "protocol/conn/tls_session.h"

#define LIMIT_MS    1000
#define PATIENCE_MS 10000

/* A protocol that answers each byte of input with itself, at once; `is_mute`: with nothing. */
struct fixture {
    struct loop *loop;
    struct connection_kind kind;
    uint64_t handshakes, failures, shed;
    bool is_mute;
    int version; /* that clients speak who meet it; 0: the newest */
    struct buf heard;
};

/* A connection and the client at its other end. */
struct pair {
    struct fixture *f;
    struct connection connection;
    struct tls_peer *peer; /* NULL: it speaks plain */
    int fd;
    bool is_closed;
};

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

static int set_up(void **state)
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

static int tear_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->kind.connections, 0);
    tls_free(f->kind.tls.tls);
    buf_fini(&f->heard);
    loop_free(f->loop);
    free(f);
    return 0;
}

/* ---- pairs ---- */

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

static void join_plain(struct pair *p, struct fixture *f)
{
    int ends[2];

    make_tcp_pair(ends);
    *p = (struct pair){.f = f, .fd = ends[1]};
    connection_init(&p->connection, &f->kind, ends[0]);
}

static void join(struct pair *p, struct fixture *f)
{
    join_plain(p, f);
    p->peer = tls_peer_new(p->fd);
}

static void turn(struct fixture *f)
{
    event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    timers_run(&f->loop->timers, 0);
}

static void pass(struct fixture *f, int64_t ms)
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

/* Turns the loop; virtual time stands still. */
#define AWAIT(f, expression)                                                   \
    do {                                                                       \
        for (int64_t until_ = clock_mono_ms() + PATIENCE_MS; !(expression);) { \
            if (clock_mono_ms() > until_)                                      \
                fail_msg("waited in vain: %s", #expression);                   \
            turn(f);                                                           \
        }                                                                      \
    } while (0)

static void open_pair(struct pair *p)
{
    AWAIT(p->f, tls_peer_is_open(p->peer));
    AWAIT(p->f, !connection_is_shaking(&p->connection));
}

static void leave(struct pair *p)
{
    connection_close(&p->connection, "the test is over");
    AWAIT(p->f, p->is_closed);
    tls_peer_free(p->peer);
    close(p->fd);
}

static void say(struct pair *p, const char *at, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = tls_peer_write(p->peer, at + done, len - done);

        assert_true(n > 0 || errno == EAGAIN);
        done += n > 0 ? (size_t)n : 0;
        turn(p->f);
    }
}

static void expect(struct pair *p, const char *at, size_t len)
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

static void echo(struct pair *p, const char *text)
{
    say(p, text, strlen(text));
    expect(p, text, strlen(text));
}

static void say_raw(struct pair *p, const void *at, size_t len)
{
    assert_int_equal(send(p->fd, at, len, MSG_NOSIGNAL), len);
}

static void expect_closed(struct pair *p)
{
    AWAIT(p->f, p->is_closed);
    tls_peer_free(p->peer);
    close(p->fd);
}

/* A client's hello: what it would send first. */
static size_t make_hello(char *to, size_t room, const char *groups)
{
    int ends[2];
    struct tls_peer *peer;
    ssize_t n;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peer = tls_peer_new(ends[0]);
    if (groups)
        assert_int_equal(SSL_set1_groups_list(tls_peer_library(peer), groups), 1);
    assert_false(tls_peer_is_open(peer));
    n = recv(ends[1], to, room, 0);
    assert_true(n > 100);
    tls_peer_free(peer);
    close(ends[0]);
    close(ends[1]);
    return (size_t)n;
}

/* ---- whether it speaks TLS ---- */

static void both_are_served_where_tls_is_optional(void **state)
{
    struct fixture *f = *state;
    struct pair plain, tls;
    char heard[8];

    f->kind.tls.mode = TLS_OPTIONAL;
    join_plain(&plain, f);
    say_raw(&plain, "plain", 5);
    AWAIT(f, recv(plain.fd, heard, sizeof(heard), MSG_DONTWAIT) == 5);
    join(&tls, f);
    open_pair(&tls);
    echo(&tls, "tls");
    assert_int_equal(f->handshakes, 1);
    assert_int_equal(f->failures, 0);
    leave(&plain);
    leave(&tls);
}

static void plain_is_refused_in_words_where_tls_is_required(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char heard[16] = "";

    join_plain(&p, f);
    say_raw(&p, "GET / HTTP/1.1\r\n\r\n", 18);
    AWAIT(f, p.connection.refused_mono_ms);
    assert_int_equal(recv(p.fd, heard, sizeof(heard), MSG_WAITALL), 9);
    assert_string_equal(heard, "speak TLS");
    assert_int_equal(recv(p.fd, heard, sizeof(heard), 0), 0); /* without a reset */
    shutdown(p.fd, SHUT_WR);
    AWAIT(f, p.is_closed);
    assert_int_equal(f->heard.len, 0);
    assert_int_equal(f->failures, 1);
    close(p.fd);
}

static void a_client_that_says_nothing_may_do_so_unless_tls_is_required(void **state)
{
    struct fixture *f = *state;
    struct pair silent, late;

    f->kind.tls.mode = TLS_OPTIONAL;
    join_plain(&silent, f);
    pass(f, 2 * LIMIT_MS);
    assert_false(silent.is_closed);
    leave(&silent);
    f->kind.tls.mode = TLS_REQUIRED;
    join_plain(&late, f);
    pass(f, LIMIT_MS - 1);
    assert_false(late.is_closed);
    pass(f, 1);
    expect_closed(&late);
    assert_int_equal(f->failures, 1);
}

/* What it has to say is too much for the kernels in between. */
static void plain_is_heard_out_before_it_is_refused(void **state)
{
    static char body[1 << 20];
    struct fixture *f = *state;
    struct pair p;
    char heard[16] = "";
    size_t said = 0;

    join_plain(&p, f);
    while (said < sizeof(body)) {
        ssize_t n = send(p.fd, body, sizeof(body) - said, MSG_NOSIGNAL | MSG_DONTWAIT);

        assert_true(n > 0 || errno == EAGAIN);
        said += n > 0 ? (size_t)n : 0;
        turn(f);
    }
    assert_int_equal(recv(p.fd, heard, sizeof(heard), MSG_WAITALL), 9);
    assert_string_equal(heard, "speak TLS");
    assert_false(p.is_closed);
    shutdown(p.fd, SHUT_WR);
    AWAIT(f, p.is_closed);
    assert_int_equal(f->heard.len, 0);
    close(p.fd);
}

static void plain_is_not_heard_for_ever(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join_plain(&p, f);
    say_raw(&p, "plain", 5);
    AWAIT(f, p.connection.refused_mono_ms);
    pass(f, 999);
    say_raw(&p, "plain", 5);
    turn(f);
    assert_false(p.is_closed);
    pass(f, 1);
    expect_closed(&p);
    assert_int_equal(f->failures, 1);
}

static void take_certificate_away(struct fixture *f)
{
    static const struct tls_texts none = {.pem = {"", "", ""}};

    tls_load(f->kind.tls.tls, &none);
    assert_int_equal(tls_end_s(f->kind.tls.tls), 0);
}

static void without_a_certificate_optional_is_plain(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    f->kind.tls.mode = TLS_OPTIONAL;
    take_certificate_away(f);
    join_plain(&p, f);
    say_raw(&p, "plain", 5);
    AWAIT(f, f->heard.len == 5);
    leave(&p);
}

/* Nothing that should be encrypted goes over the wire because a certificate cannot be used. */
static void without_a_certificate_required_is_closed(void **state)
{
    struct fixture *f = *state;
    struct pair plain, tls;

    take_certificate_away(f);
    join_plain(&plain, f);
    say_raw(&plain, "plain", 5);
    expect_closed(&plain);
    join(&tls, f);
    assert_false(tls_peer_is_open(tls.peer)); /* its hello has been sent */
    expect_closed(&tls);
    assert_int_equal(f->heard.len, 0);
    assert_int_equal(f->failures, 2);
}

/* The certificate is taken away between the two halves of a hello. */
static void a_client_that_comes_too_late_for_the_certificate_is_closed(void **state)
{
    static const struct tls_texts none = {.pem = {"", "", ""}};
    struct fixture *f = *state;
    struct pair p;
    char hello[4096];
    size_t len = make_hello(hello, sizeof(hello), NULL);

    join_plain(&p, f);
    say_raw(&p, hello, 100);
    AWAIT(f, !p.connection.is_undecided);
    tls_load(f->kind.tls.tls, &none);
    say_raw(&p, hello + 100, len - 100);
    expect_closed(&p);
    assert_int_equal(f->failures, 1);
}

/* ---- the hello ---- */

static int low_water(const struct pair *p)
{
    socklen_t len = sizeof(int);
    int low = 0;

    assert_int_equal(getsockopt(p->connection.fd, SOL_SOCKET, SO_RCVLOWAT, &low, &len), 0);
    return low;
}

/* It is not even looked at before it is whole: the kernel is told of how many bytes to tell. */
static void a_hello_in_pieces_waits_in_the_kernel(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char hello[4096];
    size_t len = make_hello(hello, sizeof(hello), NULL);

    join_plain(&p, f);
    say_raw(&p, hello, 1);
    AWAIT(f, low_water(&p) == 9);
    say_raw(&p, hello + 1, 8);
    AWAIT(f, low_water(&p) == (int)len);
    for (size_t i = 9; i < len - 1; i++) {
        say_raw(&p, hello + i, 1);
        turn(f);
        assert_int_equal(low_water(&p), len);
    }
    say_raw(&p, hello + len - 1, 1);
    AWAIT(f, low_water(&p) == 1);
    AWAIT(f, recv(p.fd, hello, sizeof(hello), MSG_DONTWAIT) > 0); /* the server's */
    leave(&p);
}

static void a_client_that_leaves_within_its_hello_is_noticed(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char hello[4096];

    make_hello(hello, sizeof(hello), NULL);
    join_plain(&p, f);
    say_raw(&p, hello, 50);
    AWAIT(f, low_water(&p) > 50);
    shutdown(p.fd, SHUT_WR);
    expect_closed(&p);
    assert_int_equal(f->failures, 1);
}

static void a_hello_that_claims_to_be_large_is_refused(void **state)
{
    static const char large[][9] = {{22, 3, 1, 0x40, 0, 1, 1, 0, 0},
                                    {22, 3, 1, 0x40, 1, 1, 0, 1, 0}};
    struct fixture *f = *state;
    struct pair p;

    for (unsigned i = 0; i < 2; i++) {
        join_plain(&p, f);
        say_raw(&p, large[i], sizeof(large[i]));
        expect_closed(&p);
        assert_int_equal(f->failures, i + 1);
    }
}

/* Replaces all of these two bytes. */
static void replace(char *at, size_t len, const char *what, const char *with)
{
    for (size_t i = 0; i + 1 < len; i++)
        if (!memcmp(at + i, what, 2))
            memcpy(at + i, with, 2);
}

/* The client knows no group that the server can use from its first hello. */
static void the_second_hello_is_bounded_like_the_first(void **state)
{
    static const char change_and_large[] = {20, 3, 3, 0, 1, 1, 22, 3, 3, 0x40, 0, 1, 1, 0, 0};
    struct fixture *f = *state;
    struct pair p;
    char hello[4096];
    size_t len = make_hello(hello, sizeof(hello), "P-521:X25519");

    join_plain(&p, f);
    replace(hello + 60, len - 60, "\0\x19", "\x99\x99");
    say_raw(&p, hello, len);
    AWAIT(f, recv(p.fd, hello, sizeof(hello), MSG_DONTWAIT) > 0);
    assert_int_equal(hello[0], 22);
    say_raw(&p, change_and_large, sizeof(change_and_large));
    AWAIT(f, p.is_closed);
    assert_int_equal(f->failures, 1);
    close(p.fd);
}

static void what_is_no_hello_fails(void **state)
{
    static const char wrong[] = {22, 3, 1, 0, 4, 99, 0, 0, 0};
    struct fixture *f = *state;
    struct pair p;

    join_plain(&p, f);
    say_raw(&p, wrong, sizeof(wrong));
    expect_closed(&p);
    assert_int_equal(f->failures, 1);
}

/* ---- time and turns ---- */

static void a_handshake_has_its_time(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char hello[4096];
    size_t len = make_hello(hello, sizeof(hello), NULL);

    f->kind.tls.mode = TLS_OPTIONAL;
    join_plain(&p, f);
    pass(f, 3 * LIMIT_MS); /* from when it begins */
    say_raw(&p, hello, len);
    AWAIT(f, recv(p.fd, hello, sizeof(hello), MSG_DONTWAIT) > 0);
    pass(f, LIMIT_MS - 1);
    assert_false(p.is_closed);
    pass(f, 1);
    assert_true(p.is_closed);
    assert_int_equal(f->failures, 1);
    close(p.fd);
}

/* The last of it is missing. */
static void a_record_has_its_time(void **state)
{
    static const char begin[] = {23, 3, 3, 0, 100, 1};
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    pass(f, 3 * LIMIT_MS); /* idle is not slow */
    echo(&p, "x");
    pass(f, 3 * LIMIT_MS);
    assert_false(p.is_closed);
    say_raw(&p, begin, sizeof(begin));
    AWAIT(f, connection_is_within_record(&p.connection));
    pass(f, LIMIT_MS - 1);
    assert_false(p.is_closed);
    pass(f, 1);
    assert_true(p.is_closed);
    expect_closed(&p);
}

#define CROWD 40

static unsigned count_open(const struct pair *crowd)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CROWD; i++)
        count += !connection_is_shaking(&crowd[i].connection);
    return count;
}

/* Forty handshakes take 20 ms or more; a turn has 2. */
static void many_handshakes_leave_time_for_others(void **state)
{
    struct fixture *f = *state;
    struct pair crowd[CROWD], served;
    unsigned turns = 0;

    join(&served, f);
    open_pair(&served);
    for (unsigned i = 0; i < CROWD; i++) {
        join(&crowd[i], f);
        assert_false(tls_peer_is_open(crowd[i].peer)); /* its hello has been sent */
    }
    assert_int_equal(tls_peer_write(served.peer, "x", 1), 1);
    do {
        turn(f);
        turns++;
    } while (f->heard.len == 0);
    assert_true(turns <= 3);
    assert_int_equal(count_open(crowd), 0);
    for (turns = 0; count_open(crowd) < CROWD; turns++) {
        turn(f);
        for (unsigned i = 0; i < CROWD; i++)
            (void)tls_peer_is_open(crowd[i].peer);
    }
    assert_true(turns > 4);
    for (unsigned i = 0; i < CROWD; i++)
        leave(&crowd[i]);
    leave(&served);
}

/* ---- bytes ---- */

static void fill(char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        at[i] = (char)(i * 7 + i / 251);
}

static void much_goes_both_ways(void **state)
{
    static char much[1 << 20];
    struct fixture *f = *state;
    struct pair p;

    fill(much, sizeof(much));
    join(&p, f);
    open_pair(&p);
    f->is_mute = true;
    p.connection.read_max_bytes = 1000; /* less than a record */
    say(&p, much, sizeof(much));
    AWAIT(f, f->heard.len == sizeof(much));
    assert_memory_equal(f->heard.at, much, sizeof(much));
    connection_send(&p.connection, bytes_of(much, sizeof(much)));
    expect(&p, much, sizeof(much));
    leave(&p);
}

/* The kernel takes less at a time than a record, and replies are of all sizes. */
static void replies_are_acknowledged_to_the_byte(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    int small = 4096;
    size_t total = 0;
    char bytes[30000];

    fill(bytes, sizeof(bytes));
    join(&p, f);
    open_pair(&p);
    setsockopt(p.connection.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    for (size_t len = 1; len < sizeof(bytes); len += 1 + len / 5) {
        connection_send(&p.connection, bytes_of(bytes, len));
        connection_await_ack(&p.connection);
        total += len;
        expect(&p, bytes, len);
        AWAIT(f, (connection_note_ack(&p.connection), p.connection.acked_bytes == total));
    }
    leave(&p);
}

/* Nobody asks meanwhile. */
static void many_replies_that_nobody_awaits_are_acknowledged_later(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    for (unsigned i = 0; i < 1000; i++)
        connection_send(&p.connection, BYTES("ten bytes."));
    connection_await_ack(&p.connection);
    AWAIT(f, (connection_note_ack(&p.connection), p.connection.acked_bytes == 10000));
    leave(&p);
}

/* The client's last word of the handshake brings its first request along, and the kernel has no
 * room for the ticket that comes in between, nor for the reply. */
static void a_handshake_need_not_wait_for_room_in_the_kernel(void **state)
{
    static char much[65536];
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    AWAIT(f, tls_peer_is_open(p.peer));
    assert_int_equal(tls_peer_write(p.peer, "request", 7), 7);
    while (send(p.connection.fd, much, sizeof(much), MSG_DONTWAIT) > 0)
        ;
    AWAIT(f, f->heard.len == 7);
    assert_true(stream_len(&p.connection.output) > 0);
    AWAIT(f, ((void)!recv(p.fd, much, sizeof(much), MSG_DONTWAIT),
              stream_len(&p.connection.output) == 0));
    leave(&p);
}

static void new_keys_may_be_asked_for_at_any_time(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(SSL_key_update(tls_peer_library(p.peer), SSL_KEY_UPDATE_REQUESTED), 1);
        echo(&p, "with new keys");
        echo(&p, "and once more");
    }
    assert_int_equal(f->failures, 0);
    leave(&p);
}

/* The kernel takes little of what the client does not read. */
static void narrow(const struct pair *p)
{
    int small = 4096;

    setsockopt(p->connection.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

/* The answer to that has to wait, for a record is half with the kernel. */
static void new_keys_may_be_asked_for_before_a_reply_is_read(void **state)
{
    static char much[1 << 20];
    struct fixture *f = *state;
    struct pair p;

    fill(much, sizeof(much));
    join(&p, f);
    open_pair(&p);
    f->is_mute = true;
    narrow(&p);
    connection_send(&p.connection, bytes_of(much, sizeof(much)));
    assert_true(stream_len(&p.connection.output) > 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(SSL_key_update(tls_peer_library(p.peer), SSL_KEY_UPDATE_REQUESTED), 1);
        say(&p, "request", 7);
        turn(f);
    }
    assert_false(p.is_closed);
    expect(&p, much, sizeof(much));
    AWAIT(f, f->heard.len == 21);
    f->is_mute = false;
    echo(&p, "still here");
    leave(&p);
}

/* It costs more than the bytes that ask for it. */
static void who_asks_for_new_keys_all_the_time_is_cut_off(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(SSL_key_update(tls_peer_library(p.peer), SSL_KEY_UPDATE_NOT_REQUESTED),
                         1);
        if (tls_peer_write(p.peer, "x", 1) < 0)
            break;
        if (i % 10 == 0)
            turn(f);
    }
    AWAIT(f, p.is_closed);
    assert_true(f->heard.len <= 16);
    expect_closed(&p);
}

static void who_asks_for_them_from_time_to_time_is_not(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(SSL_key_update(tls_peer_library(p.peer), SSL_KEY_UPDATE_REQUESTED), 1);
        echo(&p, "x");
        pass(f, 10000);
    }
    leave(&p);
}

static void a_client_of_1_2_cannot_shake_hands_again(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    assert_int_equal(SSL_set_max_proto_version(tls_peer_library(p.peer), TLS1_2_VERSION), 1);
    open_pair(&p);
    echo(&p, "once");
    assert_int_equal(SSL_renegotiate(tls_peer_library(p.peer)), 1);
    for (unsigned i = 0; i < 100; i++) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->handshakes, 1);
    leave(&p);
}

static void garbage_behind_the_handshake_ends_the_connection(void **state)
{
    static const char garbage[] = {23, 3,  3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8,
                                   9,  10, 1, 2, 3,  4, 5, 6, 7, 8, 9, 10};
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    open_pair(&p);
    say_raw(&p, garbage, sizeof(garbage));
    expect_closed(&p);
    assert_int_equal(f->heard.len, 0);
}

/* ---- ends ---- */

static void a_client_that_says_goodbye_gets_its_last_replies(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char heard[8];

    join(&p, f);
    open_pair(&p);
    assert_int_equal(tls_peer_write(p.peer, "last", 4), 4);
    assert_int_equal(SSL_shutdown(tls_peer_library(p.peer)), 0);
    expect(&p, "last", 4);
    AWAIT(f, p.connection.state != CONNECTION_OPEN);
    assert_int_equal(tls_peer_read(p.peer, heard, sizeof(heard), 0), 0);
    pass(f, 1000);
    expect_closed(&p);
}

/* Today's clients do so: no goodbye, only the end. */
static void a_client_that_ends_its_side_gets_its_last_replies(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char heard[8];

    join(&p, f);
    open_pair(&p);
    assert_int_equal(tls_peer_write(p.peer, "last", 4), 4);
    shutdown(p.fd, SHUT_WR);
    AWAIT(f, p.connection.state != CONNECTION_OPEN);
    expect(&p, "last", 4);
    assert_int_equal(tls_peer_read(p.peer, heard, sizeof(heard), 0), 0);
    pass(f, 1000);
    expect_closed(&p);
}

static void a_connection_that_is_closed_says_goodbye(void **state)
{
    struct fixture *f = *state;
    struct pair p;
    char heard[8];

    join(&p, f);
    open_pair(&p);
    connection_close(&p.connection, "for the test");
    assert_int_equal(tls_peer_read(p.peer, heard, sizeof(heard), 0), 0);
    expect_closed(&p);
}

static void who_is_told_something_within_the_handshake_is_closed(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    connection_send(&p.connection, BYTES("too early"));
    assert_int_equal(p.connection.state, CONNECTION_CLOSED);
    expect_closed(&p);
}

/* ---- certificates ---- */

static void ask_for_certificates(struct fixture *f)
{
    struct tls_texts texts = tls_peer_texts(true);

    tls_load(f->kind.tls.tls, &texts);
}

static void show(struct pair *p, const struct pem *pem)
{
    BIO *text = must(BIO_new_mem_buf(pem->certificate, -1)),
        *key_text = must(BIO_new_mem_buf(pem->key, -1));
    X509 *certificate = must(PEM_read_bio_X509(text, NULL, NULL, NULL)), *next;
    EVP_PKEY *key = must(PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL));

    assert_int_equal(SSL_use_certificate(tls_peer_library(p->peer), certificate), 1);
    assert_int_equal(SSL_use_PrivateKey(tls_peer_library(p->peer), key), 1);
    while ((next = PEM_read_bio_X509(text, NULL, NULL, NULL)))
        assert_int_equal(SSL_add0_chain_cert(tls_peer_library(p->peer), next), 1);
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(text);
    BIO_free(key_text);
}

static void expect_names(struct pair *p, const char *names)
{
    struct bytes given = connection_names(&p->connection);

    if (!bytes_equal(given, bytes_of_text(names)))
        fail_msg("'%.*s' is not '%s'", BYTES_ARG(given), names);
}

static void only_names_that_an_identity_may_have_are_told(void **state)
{
    static const struct {
        const char *alternatives, *names;
    } cases[] = {
        {"DNS:Shop.Example.COM,IP:10.0.0.1,email:a@b.c,URI:spiffe://acme/Shop",
         "DNS:shop.example.com\nURI:spiffe://acme/Shop\n"},
        {"DNS:*.example.com,DNS:a b,DNS:-", "DNS:-\n"},
        {"DNS:1,DNS:2,DNS:3,DNS:4,DNS:5,DNS:6,DNS:7,DNS:8,DNS:9",
         "DNS:1\nDNS:2\nDNS:3\nDNS:4\nDNS:5\nDNS:6\nDNS:7\nDNS:8\n"},
        {"IP:10.0.0.1", ""},
    };
    struct fixture *f = *state;

    ask_for_certificates(f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pem pem = pem_make(&(struct pem_wish){.name = "x",
                                                     .by = &tls_peer_certificates()->authority,
                                                     .alternatives = cases[i].alternatives});
        struct pair p;

        join(&p, f);
        expect_names(&p, "");
        show(&p, &pem);
        open_pair(&p);
        echo(&p, "x");
        expect_names(&p, cases[i].names);
        leave(&p);
        pem_free(&pem);
    }
}

static void a_client_is_known_by_its_certificate(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    ask_for_certificates(f);
    join(&p, f);
    show(&p, &tls_peer_certificates()->client);
    open_pair(&p);
    echo(&p, "x");
    expect_names(&p, "DNS:localhost\n");
    leave(&p);
    expect_names(&p, "");
}

/* An authority under another one, and a client that it vouches for: the last one shows the
 * first as well, as clients do. */
struct family {
    struct pem authority, client, chain;
};

static struct family family_make(int64_t ends_s)
{
    struct buf both = BUF_INIT;
    struct family made = {
        .authority = pem_make(&(struct pem_wish){.name = "department",
                                                 .by = &tls_peer_certificates()->authority,
                                                 .is_authority = true,
                                                 .ends_s = ends_s})};

    made.client = pem_make(&(struct pem_wish){.name = "member", .by = &made.authority});
    buf_printf(&both, "%s%s", made.client.certificate, made.authority.certificate);
    made.chain =
        (struct pem){.certificate = bytes_copy(buf_bytes(&both)), .key = made.client.key};
    buf_fini(&both);
    return made;
}

static void family_free(struct family *family)
{
    pem_free(&family->authority);
    free(family->chain.certificate);
    pem_free(&family->client);
}

static void an_authority_is_trusted_whoever_stands_behind_it(void **state)
{
    struct fixture *f = *state;
    struct tls_texts texts = tls_peer_texts(true);
    struct family family = family_make(0);
    struct pair p;

    texts.pem[TLS_CA] = family.authority.certificate;
    tls_load(f->kind.tls.tls, &texts);
    join(&p, f);
    show(&p, &family.client);
    open_pair(&p);
    echo(&p, "x"); /* the client's side is open before it is judged */
    leave(&p);
    family_free(&family);
}

static void expect_refused(struct fixture *f, const struct pem *pem)
{
    uint64_t before = f->failures;
    struct pair p;

    join(&p, f);
    if (pem)
        show(&p, pem);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->failures, before + 1);
    assert_int_equal(f->handshakes, 0);
    expect_closed(&p);
}

static void wrong_certificates_are_refused(void **state)
{
    struct fixture *f = *state;
    const struct pem *authority = &tls_peer_certificates()->authority;
    struct pem ended = pem_make(
        &(struct pem_wish){.name = "old", .by = authority, .begins_s = -100, .ends_s = -1});
    struct pem foreign = pem_make(&(struct pem_wish){.name = "foreign"});

    ask_for_certificates(f);
    expect_refused(f, NULL);
    expect_refused(f, &ended);
    expect_refused(f, &foreign);
    pem_free(&ended);
    pem_free(&foreign);
}

/* What the log says meanwhile; the caller's. */
static char *hear_log(struct fixture *f, const struct pem *pem)
{
    struct log_options options = {.level = LEVEL_DEBUG};
    char path[] = "/tmp/tls_test.XXXXXX", *text = must(calloc(1, 65536));
    int fd = mkstemp(path);

    options.file = path;
    assert_int_equal(log_configure(&options), STATUS_OK);
    expect_refused(f, pem);
    options = (struct log_options){.level = LEVEL_INFO};
    assert_int_equal(log_configure(&options), STATUS_OK);
    assert_true(read(fd, text, 65535) > 0);
    unlink(path);
    close(fd);
    return text;
}

static void the_log_says_which_certificate_was_refused_and_why(void **state)
{
    struct fixture *f = *state;
    struct family ended = family_make(-1);
    char *log;

    ask_for_certificates(f);
    log = hear_log(f, &ended.chain);
    assert_non_null(strstr(log, "no TLS: certificate has expired: CN=department,O=dueq, issued "
                                "by CN=authority,O=dueq\n"));
    free(log);
    log = hear_log(f, &ended.client);
    assert_non_null(strstr(log, "no TLS: unable to get local issuer certificate: CN=member,"
                                "O=dueq, issued by CN=department,O=dueq\n"));
    free(log);
    log = hear_log(f, NULL);
    assert_non_null(strstr(log, "no TLS: peer did not return a certificate\n"));
    free(log);
    family_free(&ended);
}

static void without_being_asked_nobody_is_known(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    show(&p, &tls_peer_certificates()->client);
    open_pair(&p);
    expect_names(&p, "");
    leave(&p);
}

/* Shakes hands, and returns the ticket; `ticket`: tries to resume with that one. */
static SSL_SESSION *meet(struct fixture *f, SSL_SESSION *ticket, const struct pem *client,
                         bool *is_resumed)
{
    SSL_SESSION *next;
    struct pair p;

    join(&p, f);
    if (f->version)
        assert_int_equal(SSL_set_max_proto_version(tls_peer_library(p.peer), f->version), 1);
    if (client)
        show(&p, client);
    if (ticket)
        assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    open_pair(&p);
    echo(&p, "x"); /* and the ticket, which comes before */
    *is_resumed = SSL_session_reused(tls_peer_library(p.peer));
    next = SSL_get1_session(tls_peer_library(p.peer));
    SSL_SESSION_free(ticket);
    leave(&p);
    return next;
}

static void a_client_that_comes_back_need_not_begin_anew(void **state)
{
    struct fixture *f = *state;
    const struct pem *client = &tls_peer_certificates()->client;
    bool is_resumed;
    SSL_SESSION *ticket;

    ask_for_certificates(f);
    ticket = meet(f, NULL, client, &is_resumed);
    assert_false(is_resumed);
    ticket = meet(f, ticket, client, &is_resumed);
    assert_true(is_resumed);
    SSL_SESSION_free(ticket);
}

/* Another certificate of the server. */
static void load_another(struct fixture *f, struct tls_texts texts)
{
    struct pem other = pem_make(
        &(struct pem_wish){.name = "other", .by = &tls_peer_certificates()->authority});

    texts.pem[TLS_CERTIFICATE] = other.certificate;
    texts.pem[TLS_KEY] = other.key;
    tls_load(f->kind.tls.tls, &texts);
    pem_free(&other);
}

static void tickets_outlive_a_certificate(void **state)
{
    struct fixture *f = *state;
    bool is_resumed;
    SSL_SESSION *ticket = meet(f, NULL, NULL, &is_resumed);

    load_another(f, tls_peer_texts(false));
    ticket = meet(f, ticket, NULL, &is_resumed);
    assert_true(is_resumed);
    SSL_SESSION_free(ticket);
}

static void tickets_end_when_other_clients_are_asked_for(void **state)
{
    struct fixture *f = *state;
    const struct tls_peer_certificates *all = tls_peer_certificates();
    struct tls_texts texts = tls_peer_texts(true);
    struct buf both = BUF_INIT;
    bool is_resumed;
    SSL_SESSION *ticket = meet(f, NULL, NULL, &is_resumed);

    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    buf_printf(&both, "%s%s", all->authority.certificate, all->server.certificate);
    texts.pem[TLS_CA] = buf_text(&both);
    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    texts.is_client_required = false;
    load_another(f, texts);
    ticket = meet(f, ticket, &all->client, &is_resumed);
    assert_false(is_resumed);
    SSL_SESSION_free(ticket);
    buf_fini(&both);
}

static void a_ticket_does_not_outlive_its_clients_certificate(void **state)
{
    struct fixture *f = *state;
    struct pem brief = pem_make(&(struct pem_wish){
        .name = "brief", .by = &tls_peer_certificates()->authority, .ends_s = 2});
    int64_t end_ms = clock_wall_ms() + 2000;
    struct pair p;
    bool is_resumed;
    SSL_SESSION *ticket;

    ask_for_certificates(f);
    ticket = meet(f, NULL, &brief, &is_resumed);
    while (clock_wall_ms() <= end_ms + 1000)
        usleep(10000);
    join(&p, f);
    assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->failures, 1);
    SSL_SESSION_free(ticket);
    pem_free(&brief);
    expect_closed(&p);
}

/* Nor a ticket that was got by a ticket; and who has another certificate by then may come in.
 */
static void a_ticket_does_not_outlive_an_authority(void **state)
{
    struct fixture *f = *state;
    struct family brief = family_make(2);
    int64_t end_ms = clock_wall_ms() + 2000;
    bool is_resumed;
    SSL_SESSION *ticket;
    struct pair p;

    ask_for_certificates(f);
    ticket = meet(f, NULL, &brief.chain, &is_resumed);
    ticket = meet(f, ticket, &brief.chain, &is_resumed);
    assert_true(is_resumed);
    while (clock_wall_ms() <= end_ms + 1000)
        usleep(10000);
    join(&p, f);
    show(&p, &brief.chain);
    SSL_SESSION_up_ref(ticket);
    assert_int_equal(SSL_set_session(tls_peer_library(p.peer), ticket), 1);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    expect_closed(&p);
    SSL_SESSION_free(ticket);
    assert_int_equal(f->failures, 1);
    ticket = meet(f, ticket, &tls_peer_certificates()->client, &is_resumed);
    assert_false(is_resumed);
    SSL_SESSION_free(ticket);
    family_free(&brief);
}

/* Each ticket is good for its life at least, and for two at most. */
static void a_ticket_dies_with_its_key(void **state)
{
    struct fixture *f = *state;
    bool is_resumed;
    SSL_SESSION *old, *newer;

    for (unsigned version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        f->version = (int)version;
        old = meet(f, NULL, NULL, &is_resumed);
        pass(f, 1000 * TLS_TICKET_S);
        SSL_SESSION_up_ref(old);
        newer = meet(f, old, NULL, &is_resumed);
        assert_true(is_resumed);
        pass(f, 1000 * TLS_TICKET_S);
        SSL_SESSION_free(meet(f, old, NULL, &is_resumed));
        assert_false(is_resumed);
        SSL_SESSION_free(meet(f, newer, NULL, &is_resumed));
        assert_true(is_resumed);
    }
}

static char *name_of_server(struct pair *p)
{
    X509 *certificate = SSL_get1_peer_certificate(tls_peer_library(p->peer));
    static char name[32];

    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof(name));
    X509_free(certificate);
    return name;
}

static void a_new_certificate_is_for_new_connections(void **state)
{
    struct fixture *f = *state;
    struct pair old, new;

    join(&old, f);
    open_pair(&old);
    load_another(f, tls_peer_texts(false));
    join(&new, f);
    open_pair(&new);
    assert_string_equal(name_of_server(&new), "other");
    echo(&old, "still here");
    leave(&old);
    leave(&new);
}

static void bad_texts_leave_the_old_ones(void **state)
{
    struct fixture *f = *state;
    struct tls_texts texts = tls_peer_texts(false);
    struct pair p;

    texts.pem[TLS_KEY] = tls_peer_certificates()->client.key;
    tls_load(f->kind.tls.tls, &texts);
    join(&p, f);
    open_pair(&p);
    assert_string_equal(name_of_server(&p), "server");
    leave(&p);
}

/* A client that offers it gets it, and so does one that offers something else only. */
static void the_application_is_agreed_on_where_it_is_offered(void **state)
{
    static const struct {
        const char *offered;
        unsigned len;
        const char *agreed;
    } cases[] = {{"\2h2\6dueq/1", 10, "dueq/1"}, {"\2h2", 3, ""}};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const unsigned char *agreed;
        unsigned len;
        struct pair p;

        join(&p, f);
        SSL_set_alpn_protos(tls_peer_library(p.peer), (const unsigned char *)cases[i].offered,
                            cases[i].len);
        open_pair(&p);
        SSL_get0_alpn_selected(tls_peer_library(p.peer), &agreed, &len);
        assert_int_equal(len, strlen(cases[i].agreed));
        if (len)
            assert_memory_equal(agreed, cases[i].agreed, len);
        leave(&p);
    }
}

static void versions_before_1_2_are_refused(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    join(&p, f);
    SSL_set_security_level(tls_peer_library(p.peer), 0);
    assert_int_equal(SSL_set_min_proto_version(tls_peer_library(p.peer), TLS1_VERSION), 1);
    assert_int_equal(SSL_set_max_proto_version(tls_peer_library(p.peer), TLS1_1_VERSION), 1);
    while (!p.is_closed) {
        (void)tls_peer_is_open(p.peer);
        turn(f);
    }
    assert_int_equal(f->failures, 1);
    expect_closed(&p);
}

#define tls_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        tls_test(both_are_served_where_tls_is_optional),
        tls_test(plain_is_refused_in_words_where_tls_is_required),
        tls_test(a_client_that_says_nothing_may_do_so_unless_tls_is_required),
        tls_test(plain_is_heard_out_before_it_is_refused),
        tls_test(plain_is_not_heard_for_ever),
        tls_test(without_a_certificate_optional_is_plain),
        tls_test(without_a_certificate_required_is_closed),
        tls_test(a_client_that_comes_too_late_for_the_certificate_is_closed),
        tls_test(a_hello_in_pieces_waits_in_the_kernel),
        tls_test(a_client_that_leaves_within_its_hello_is_noticed),
        tls_test(a_hello_that_claims_to_be_large_is_refused),
        tls_test(the_second_hello_is_bounded_like_the_first),
        tls_test(what_is_no_hello_fails),
        tls_test(a_handshake_has_its_time),
        tls_test(a_record_has_its_time),
        tls_test(many_handshakes_leave_time_for_others),
        tls_test(much_goes_both_ways),
        tls_test(replies_are_acknowledged_to_the_byte),
        tls_test(many_replies_that_nobody_awaits_are_acknowledged_later),
        tls_test(a_handshake_need_not_wait_for_room_in_the_kernel),
        tls_test(new_keys_may_be_asked_for_at_any_time),
        tls_test(new_keys_may_be_asked_for_before_a_reply_is_read),
        tls_test(who_asks_for_new_keys_all_the_time_is_cut_off),
        tls_test(who_asks_for_them_from_time_to_time_is_not),
        tls_test(a_client_of_1_2_cannot_shake_hands_again),
        tls_test(garbage_behind_the_handshake_ends_the_connection),
        tls_test(a_client_that_says_goodbye_gets_its_last_replies),
        tls_test(a_client_that_ends_its_side_gets_its_last_replies),
        tls_test(a_connection_that_is_closed_says_goodbye),
        tls_test(who_is_told_something_within_the_handshake_is_closed),
        tls_test(a_client_is_known_by_its_certificate),
        tls_test(an_authority_is_trusted_whoever_stands_behind_it),
        tls_test(only_names_that_an_identity_may_have_are_told),
        tls_test(wrong_certificates_are_refused),
        tls_test(the_log_says_which_certificate_was_refused_and_why),
        tls_test(without_being_asked_nobody_is_known),
        tls_test(a_client_that_comes_back_need_not_begin_anew),
        tls_test(tickets_outlive_a_certificate),
        tls_test(tickets_end_when_other_clients_are_asked_for),
        tls_test(a_ticket_does_not_outlive_its_clients_certificate),
        tls_test(a_ticket_does_not_outlive_an_authority),
        tls_test(a_ticket_dies_with_its_key),
        tls_test(a_new_certificate_is_for_new_connections),
        tls_test(bad_texts_leave_the_old_ones),
        tls_test(the_application_is_agreed_on_where_it_is_offered),
        tls_test(versions_before_1_2_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
