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

#include "base/clock.h"
#include "base/list.h"
#include "protocol/conn/private.h"
#include "protocol/conn/tests/ahead.h"
#include "protocol/conn/tests/tls_peer.h"

/* A protocol of lines: each is a request, answered with itself when the test says so. Tests
 * marked so are run a second time over TLS, where nothing may be different. */
struct fixture {
    struct connection_kind kind;
    uint64_t shed;
    struct connection connection;
    int peer;
    struct tls_peer *tls; /* the same; NULL: plain */
    struct buf lines;     /* in work */
    unsigned ends;
    unsigned acks;
    unsigned finishes;
    bool looks;   /* the peer tries to read when it finishes, */
    bool is_told; /* and something was there, or the end */
    bool is_closed;
};

static struct fixture *fixture_of(struct connection *c)
{
    return CONTAINER_OF(c, struct fixture, connection);
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct fixture *f = fixture_of(c);
    size_t used = 0;

    while (c->in_work < c->kind->in_work_max) {
        const char *end = memchr(input.at + used, '\n', input.len - used);

        if (!end)
            break;
        buf_add(&f->lines, input.at + used, (size_t)(end + 1 - input.at) - used);
        used = (size_t)(end + 1 - input.at);
        connection_begin(c);
        if (used == input.len)
            break;
    }
    return used;
}

static void on_end(struct connection *c)
{
    fixture_of(c)->ends++;
}

static ssize_t take(struct fixture *f, char *to, size_t room, int flags);

static void on_finished(struct connection *c)
{
    struct fixture *f = fixture_of(c);
    char byte;

    assert_int_equal(c->in_work, 0);
    f->finishes++;
    f->is_told |= f->looks && take(f, &byte, 1, MSG_DONTWAIT) >= 0;
}

static void on_acked(struct connection *c)
{
    fixture_of(c)->acks++;
}

static void on_closed(struct connection *c)
{
    assert_false(fixture_of(c)->is_closed);
    fixture_of(c)->is_closed = true;
}

/* ends[0] has a small buffer. */
static void make_pair(int ends[2])
{
    int small = 4096;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
}

/* TCP, whose kernel acknowledges what it has, read or not. ends[0] has a large buffer, and the
 * other end a small one. */
static void make_tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), small = 4096, large = 1 << 20;

    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(connect(ends[1], (struct sockaddr *)&address, sizeof(address)), 0);
    ends[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    assert_true(ends[0] >= 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
    close(listener);
}

static int set_up_over(void **state, void (*make)(int ends[2]))
{
    struct fixture *f = calloc(1, sizeof(*f));
    int ends[2];

    assert_non_null(f);
    f->kind = (struct connection_kind){
        .name = "test",
        .loop = loop_new_ahead(),
        .on_input = on_input,
        .on_end = on_end,
        .on_acked = on_acked,
        .on_finished = on_finished,
        .on_closed = on_closed,
        .in_work_max = 3,
        .output_max_bytes = 20000,
        .kept_max_bytes = 100,
        .unread_max_bytes = 1000000,
        .ending_ms = 5000,
        .ending_ack_ms = 5000,
        .shed = &f->shed,
    };
    make(ends);
    f->peer = ends[1];
    connection_init(&f->connection, &f->kind, ends[0]);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_over(state, make_pair);
}

static int set_up_tcp(void **state)
{
    return set_up_over(state, make_tcp_pair);
}

static void turn(struct fixture *f)
{
    for (unsigned i = 0; i < 5; i++) {
        event_base_loop(f->kind.loop->base, EVLOOP_NONBLOCK);
        timers_run(&f->kind.loop->timers, 0);
    }
}

/* The client takes its steps between the server's. */
static int begin_tls(struct fixture *f)
{
    static uint64_t counts[2];

    f->kind.tls = (struct tls_port){.tls = tls_peer_server(f->kind.loop),
                                    .mode = TLS_REQUIRED,
                                    .handshakes = &counts[0],
                                    .failures = &counts[1]};
    connection_start_tls(&f->connection);
    f->tls = tls_peer_new(f->peer);
    while (!tls_peer_is_open(f->tls) || connection_is_shaking(&f->connection))
        turn(f);
    return 0;
}

/* Sends, and receives as read() does; over TLS, where the test wants that. */
static void give(struct fixture *f, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(f->tls ? tls_peer_write(f->tls, text, len) : write(f->peer, text, len),
                     len);
}

static ssize_t take(struct fixture *f, char *to, size_t room, int flags)
{
    return f->tls ? tls_peer_read(f->tls, to, room, flags) : recv(f->peer, to, room, flags);
}

/* What there is once something is there; 0: the end. A part of a record is nothing yet. */
static size_t take_some(struct fixture *f, char *to, size_t room)
{
    ssize_t n;

    while ((n = take(f, to, room, MSG_DONTWAIT)) < 0) {
        assert_int_equal(errno, EAGAIN);
        turn(f);
    }
    return (size_t)n;
}

static int set_up_tls(void **state)
{
    return set_up_over(state, make_pair) || begin_tls(*state);
}

static int set_up_tcp_tls(void **state)
{
    return set_up_over(state, make_tcp_pair) || begin_tls(*state);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tls_peer_free(f->tls);
    connection_close(&f->connection, "the test is over");
    turn(f);
    assert_true(f->is_closed);
    assert_int_equal(f->kind.kept_bytes, 0);
    close(f->peer);
    buf_fini(&f->lines);
    tls_free(f->kind.tls.tls);
    loop_free(f->kind.loop);
    free(f);
    return 0;
}

/* In steps, as a loop would see it. */
static void pass(struct fixture *f, int64_t ms)
{
    struct timers *ts = &f->kind.loop->timers;
    int64_t until_ms = timers_now(ts) + ms;

    while (ts->count && ts->heap[1]->due_mono_ms <= until_ms) {
        timers_run(ts, ts->heap[1]->due_mono_ms);
        turn(f);
    }
    timers_run(ts, until_ms);
    turn(f);
}

static void say(struct fixture *f, const char *text)
{
    give(f, text);
    turn(f);
}

static void answer(struct fixture *f)
{
    const char *end = memchr(f->lines.at, '\n', f->lines.len);
    size_t len = (size_t)(end + 1 - f->lines.at);

    connection_send(&f->connection, bytes_of(f->lines.at, len));
    buf_drop(&f->lines, len);
    connection_done(&f->connection);
    turn(f);
}

static void assert_in_work(struct fixture *f, const char *lines)
{
    assert_string_equal(buf_text(&f->lines), lines);
}

static void assert_heard(struct fixture *f, const char *text)
{
    char heard[256] = "";
    size_t len = 0, expected = strlen(text);
    ssize_t n;

    do { /* over TLS each record comes by itself */
        n = take(f, heard + len, sizeof(heard) - 1 - len, 0);
        len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && len < expected);
    assert_true(n >= 0 || *text == '\0');
    assert_string_equal(heard, text);
}

static void offers_again_what_was_not_used(void **state)
{
    struct fixture *f = *state;

    say(f, "one\ntw");
    assert_in_work(f, "one\n");
    assert_int_equal(f->kind.kept_bytes, 2);
    say(f, "o\n");
    assert_in_work(f, "one\ntwo\n");
    assert_int_equal(f->kind.kept_bytes, 0);
    answer(f);
    assert_heard(f, "one\n");
}

static void reads_no_further_while_too_much_is_in_work(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n4\n5");
    say(f, "\n6\n");
    assert_in_work(f, "1\n2\n3\n");
    answer(f);
    assert_in_work(f, "2\n3\n4\n");
    answer(f);
    assert_in_work(f, "3\n4\n5\n");
    answer(f);
    answer(f);
    assert_in_work(f, "5\n6\n");
}

static void a_lower_limit_of_requests_in_work_leaves_none_behind(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n");
    f->kind.in_work_max = 1;
    say(f, "3\n");
    assert_in_work(f, "1\n2\n");
    answer(f);
    assert_in_work(f, "2\n");
    answer(f);
    assert_in_work(f, "3\n");
    say(f, "4\n");
    assert_in_work(f, "3\n");
    answer(f);
    answer(f);
    say(f, "5\n");
    assert_in_work(f, "5\n");
}

static void limits_what_all_connections_keep(void **state)
{
    struct fixture *f = *state;
    char much[102];

    memset(much, 'x', sizeof(much) - 1);
    much[101] = '\0';
    say(f, much);
    assert_true(f->is_closed);
}

static void ends_when_all_in_work_is_answered(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n4\n");
    connection_wind_up(&f->connection, "for the test");
    assert_int_equal(f->connection.state, CONNECTION_ENDING);
    pass(f, 40);
    assert_int_equal(f->ends, 0);
    pass(f, 60);
    assert_int_equal(f->ends, 1);
    answer(f);
    answer(f);
    answer(f);
    assert_true(f->is_closed);
    assert_heard(f, "1\n2\n3\n");
    assert_heard(f, "");
}

static void ends_at_once_when_nothing_is_in_work(void **state)
{
    struct fixture *f = *state;

    connection_wind_up(&f->connection, "for the test");
    assert_int_equal(f->connection.state, CONNECTION_CLOSED);
    assert_false(f->is_closed);
    turn(f);
    assert_true(f->is_closed);
    assert_int_equal(f->ends, 0);
}

static void answers_a_peer_that_has_ended_its_side(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\nhalf");
    shutdown(f->peer, SHUT_WR);
    turn(f);
    assert_int_equal(f->connection.state, CONNECTION_ENDING);
    assert_int_equal(f->kind.kept_bytes, 0);
    answer(f);
    answer(f);
    assert_false(f->is_closed); /* it has not read them yet */
    assert_int_equal(f->connection.acked_bytes, 0);
    assert_heard(f, "1\n2\n");
    assert_heard(f, ""); /* but the end */
    pass(f, 1000);
    assert_true(f->is_closed);
    assert_int_equal(f->connection.acked_bytes, 4);
}

static void notices_the_peers_end_while_it_reads_nothing(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n");
    shutdown(f->peer, SHUT_WR);
    turn(f);
    assert_int_equal(f->connection.state, CONNECTION_ENDING);
    pass(f, 100);
    assert_int_equal(f->ends, 1);
    for (unsigned i = 0; i < 3; i++)
        answer(f);
    assert_int_equal(f->connection.acked_bytes, 0); /* nobody has read them */
    assert_heard(f, "1\n2\n3\n");
    assert_heard(f, ""); /* but the end */
    pass(f, 1000);
    assert_true(f->is_closed);
}

static void serves_what_came_before_the_peers_end(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n4\n5"); /* two are kept, */
    say(f, "\n6\n7\n");      /* two are not even read */
    shutdown(f->peer, SHUT_WR);
    turn(f);
    pass(f, 100);
    assert_int_equal(f->connection.state, CONNECTION_OPEN);
    assert_int_equal(f->ends, 1);
    answer(f);
    assert_in_work(f, "2\n3\n4\n");
    pass(f, 100);
    assert_int_equal(f->ends, 2);
    assert_int_equal(f->connection.acked_bytes, 0);
    for (unsigned i = 0; i < 6; i++)
        answer(f);
    assert_heard(f, "1\n2\n3\n4\n5\n6\n7\n");
    assert_heard(f, ""); /* but the end */
    pass(f, 1000);
    assert_true(f->is_closed);
    assert_int_equal(f->connection.acked_bytes, 14);
}

static void notices_a_reset_while_it_reads_nothing(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n4\n");
    answer(f);
    assert_in_work(f, "2\n3\n4\n");
    close(f->peer); /* with a reply unread, which makes it a reset */
    f->peer = -1;
    turn(f);
    assert_true(f->is_closed);
}

static void watches_again_after_it_has_read(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n");
    answer(f);
    say(f, "4\n");
    assert_in_work(f, "2\n3\n4\n");
    shutdown(f->peer, SHUT_WR);
    turn(f);
    assert_int_equal(f->connection.state, CONNECTION_ENDING);
}

static void gives_up_on_a_peer_that_does_not_read_its_last_replies(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n");
    shutdown(f->peer, SHUT_WR);
    turn(f);
    answer(f);
    pass(f, 4000);
    assert_false(f->is_closed);
    pass(f, 2000);
    assert_true(f->is_closed);
}

static void notices_that_the_peer_is_gone_when_it_answers(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n");
    close(f->peer);
    f->peer = -1;
    turn(f);
    answer(f);
    assert_true(f->is_closed);
    assert_int_equal(f->connection.acked_bytes, 0);
}

static void writes_the_rest_when_there_is_room_again(void **state)
{
    struct fixture *f = *state;
    char large[20000], heard[sizeof(large)];
    size_t got = 0;

    memset(large, 'x', sizeof(large));
    connection_send(&f->connection, bytes_of(large, sizeof(large)));
    assert_true(stream_len(&f->connection.output) > 0);
    connection_await_ack(&f->connection);
    while (got < sizeof(large)) {
        got += take_some(f, heard, sizeof(heard));
        turn(f);
    }
    pass(f, 45);
    assert_int_equal(f->connection.acked_bytes, sizeof(large));
    assert_true(f->acks > 0);
}

static void cuts_off_a_peer_that_leaves_too_much_unread(void **state)
{
    struct fixture *f = *state;
    char large[20000] = "";

    for (unsigned i = 0; i < 3; i++) /* the second is in the kernel or waits */
        connection_send(&f->connection, bytes_of(large, sizeof(large)));
    turn(f);
    assert_true(f->is_closed);
}

/* Some at each tenth of a second, for as long as it may. Returns how long that was. */
static int64_t trickle(struct fixture *f, int64_t most_ms)
{
    int64_t ms = 0;
    char some[1024];

    while (ms < most_ms && !f->is_closed) {
        assert_true(take(f, some, sizeof(some), 0) >= 0);
        pass(f, 100);
        ms += 100;
    }
    return ms;
}

static void a_reply_has_a_time_to_be_read_in_however_steadily(void **state)
{
    struct fixture *f = *state;
    char large[100000] = "";

    f->kind.reading_ms = 1000;
    connection_send(&f->connection, bytes_of(large, sizeof(large)));
    assert_int_equal(trickle(f, 5000), 1000);
    assert_true(f->is_closed);
}

static void who_reads_each_reply_in_its_time_may_always_have_more_to_read(void **state)
{
    struct fixture *f = *state;
    char large[10000] = "";

    f->kind.reading_ms = 3000;
    for (unsigned i = 0; i < 20; i++) {
        connection_send(&f->connection, bytes_of(large, sizeof(large)));
        assert_true(stream_len(&f->connection.output) > 0);
        assert_int_equal(trickle(f, 1000), 1000);
    }
    assert_false(f->is_closed);
}

static void the_last_replies_have_their_time_from_the_end_on(void **state)
{
    struct fixture *f = *state;
    char large[100000] = "";

    f->kind.reading_ms = 2000;
    connection_send(&f->connection, bytes_of(large, sizeof(large)));
    trickle(f, 1000);
    connection_wind_up(&f->connection, "the test says so");
    assert_in_range(trickle(f, 5000), 2000, 2500); /* looked at twice a second */
}

static void cancels_what_is_in_work_fifty_milliseconds_after_the_peers_end(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n");
    shutdown(f->peer, SHUT_WR);
    turn(f);
    pass(f, 49);
    assert_int_equal(f->ends, 0);
    pass(f, 1);
    assert_int_equal(f->ends, 1);
}

/* Another connection of the same kind, with its own peer. */
static void connect_another(struct fixture *f, struct fixture *another)
{
    int ends[2];

    *another = (struct fixture){.peer = -1};
    make_pair(ends);
    another->peer = ends[1];
    connection_init(&another->connection, &f->kind, ends[0]);
}

static void say_as(struct fixture *f, struct fixture *another, const char *text)
{
    assert_int_equal(write(another->peer, text, strlen(text)), strlen(text));
    turn(f);
}

static void disconnect_another(struct fixture *f, struct fixture *another)
{
    connection_close(&another->connection, "the test has seen enough");
    turn(f);
    assert_true(another->is_closed);
    close(another->peer);
}

static void cuts_off_the_slowest_when_all_together_leave_too_much_unread(void **state)
{
    struct fixture *f = *state, slow, large;
    char bytes[20000] = "";

    connect_another(f, &slow);
    connect_another(f, &large);
    connection_send(&slow.connection, bytes_of(bytes, sizeof(bytes)));
    connection_send(&f->connection, bytes_of(bytes, sizeof(bytes)));
    f->kind.unread_max_bytes = f->kind.unread_bytes;
    assert_true(read(slow.peer, bytes, sizeof(bytes)) > 0); /* now the other one is slower */
    turn(f);
    assert_true(stream_len(&slow.connection.output) > 0);
    connection_send(&large.connection, bytes_of(bytes, sizeof(bytes)));
    turn(f);
    assert_true(f->is_closed);
    assert_false(slow.is_closed || large.is_closed);
    assert_true(f->kind.unread_bytes <= f->kind.unread_max_bytes);
    f->kind.unread_max_bytes = 1;
    connection_send(&large.connection, BYTES("x")); /* a reply may be larger than the limit */
    turn(f);
    assert_true(slow.is_closed && !large.is_closed);
    disconnect_another(f, &slow);
    disconnect_another(f, &large);
    assert_int_equal(f->kind.unread_bytes, 0);
}

/* Not the one that comes last, and not those that keep little. */
static void cuts_off_who_keeps_much_for_longest_when_all_together_keep_too_much(void **state)
{
    struct fixture *f = *state, hoarder, newcomer;
    char much[1000];

    memset(much, 'x', sizeof(much) - 1);
    much[sizeof(much) - 1] = '\0';
    f->kind.kept_max_bytes = 2010;
    connect_another(f, &hoarder);
    connect_another(f, &newcomer);
    say(f, "little");
    say_as(f, &hoarder, much);
    say_as(f, &newcomer, much);
    assert_int_equal(f->kind.kept_bytes, 6 + 999 + 999);
    say_as(f, &newcomer, "more than there is room for");
    assert_true(hoarder.is_closed);
    assert_false(f->is_closed || newcomer.is_closed);
    assert_int_equal(f->kind.kept_bytes, 6 + 999 + 27);
    assert_int_equal(f->shed, 1);
    say(f, "\n");
    answer(f);
    disconnect_another(f, &hoarder);
    disconnect_another(f, &newcomer);
}

static void keeps_no_more_than_the_protocol_says_when_there_is_enough_to_do(void **state)
{
    struct fixture *f = *state;

    f->connection.read_max_bytes = 5;
    f->kind.in_work_max = 1;
    say(f, "1\n2\n3\n4\n5\n6\n");
    assert_int_equal(f->kind.kept_bytes, 3);
    for (unsigned i = 0; i < 6; i++) {
        answer(f);
        turn(f);
        assert_in_range(f->kind.kept_bytes, 0, 5);
    }
    assert_int_equal(f->lines.len, 0);
}

static bool is_busy(const struct connection *c)
{
    return c->input.buf.len > 0;
}

static void what_the_protocol_sets_a_time_is_not_idle(void **state)
{
    struct fixture *f = *state;

    f->kind.idle_ms = 1000;
    f->kind.is_busy = is_busy;
    say(f, "1");
    pass(f, 5000);
    assert_false(f->is_closed);
    say(f, "\n");
    answer(f);
    pass(f, 2100);
    assert_true(f->is_closed);
}

static void the_client_sees_the_end_and_may_still_send(void **state)
{
    struct fixture *f = *state;
    char bytes[20000] = "";
    size_t n, sum = 0;

    connection_send(&f->connection, bytes_of(bytes, sizeof(bytes)));
    connection_end_output(&f->connection);
    while ((n = take_some(f, bytes, sizeof(bytes)))) {
        sum += n;
        turn(f);
    }
    assert_int_equal(sum, sizeof(bytes));
    say(f, "1\n");
    assert_int_equal(f->connection.in_work, 1);
    connection_done(&f->connection);
}

static void it_is_finished_before_the_client_sees_the_end(void **state)
{
    struct fixture *f = *state;
    char byte;

    f->looks = true;
    say(f, "1\n");
    connection_wind_up(&f->connection, "the test says so");
    assert_int_equal(f->finishes, 0);
    connection_done(&f->connection);
    assert_true(f->finishes > 0);
    assert_false(f->is_told);
    assert_int_equal(take_some(f, &byte, 1), 0);
}

static void it_is_finished_when_its_client_ends_with_nothing_in_work(void **state)
{
    struct fixture *f = *state;
    char byte;

    f->looks = true;
    say(f, "1\n");
    answer(f);
    assert_heard(f, "1\n");
    assert_int_equal(shutdown(f->peer, SHUT_WR), 0);
    turn(f);
    assert_true(f->finishes > 0);
    assert_false(f->is_told);
    assert_int_equal(take_some(f, &byte, 1), 0);
}

static void a_new_idle_limit_holds_for_old_connections(void **state)
{
    struct fixture *f = *state;

    f->kind.idle_ms = 1000;
    say(f, "1\n");
    pass(f, 5000);
    assert_false(f->is_closed); /* one is in work */
    answer(f);
    pass(f, 900);
    assert_false(f->is_closed);
    pass(f, 1200);
    assert_true(f->is_closed);
}

/* ---- acknowledged ---- */

#define LARGE       200000
#define PATIENCE_MS 10000

/* Real time passes, too: the kernels take theirs. */
#define AWAIT_AT(f, step_ms, expression)                                       \
    do {                                                                       \
        for (int64_t until_ = clock_mono_ms() + PATIENCE_MS; !(expression);) { \
            if (clock_mono_ms() > until_)                                      \
                fail_msg("waited in vain: %s", #expression);                   \
            pass(f, step_ms);                                                  \
        }                                                                      \
    } while (0)

#define AWAIT(f, expression)       AWAIT_AT(f, 1, expression)
#define AWAIT_TURNS(f, expression) AWAIT_AT(f, 0, expression)

static void send_and_await(struct fixture *f, size_t len)
{
    static char bytes[LARGE];

    connection_send(&f->connection, bytes_of(bytes, len));
    assert_int_equal(stream_len(&f->connection.output), 0); /* the kernel has it all */
    connection_await_ack(&f->connection);
}

static void read_all(struct fixture *f, size_t len)
{
    char bytes[65536];

    for (ssize_t n; len > 0; len -= (size_t)n) {
        n = take(f, bytes, len < sizeof(bytes) ? len : sizeof(bytes), 0);
        assert_true(n > 0);
    }
}

static void what_the_clients_kernel_does_not_have_is_not_acknowledged(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, 100);
    send_and_await(f, LARGE);
    AWAIT(f, f->acks > 0);
    pass(f, 4000);
    assert_in_range(f->connection.acked_bytes, 100, LARGE / 2);
    read_all(f, 100 + LARGE);
    AWAIT(f, f->connection.acked_bytes == 100 + LARGE);
    assert_false(connection_awaits_ack(&f->connection));
}

/* The timer has not come. */
static void input_brings_the_acknowledgement_along(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, 100);
    read_all(f, 100);
    say(f, "next\n");
    AWAIT_TURNS(f, f->lines.len > 0);
    assert_int_equal(f->connection.acked_bytes, 100);
    assert_int_equal(f->acks, 1);
    connection_done(&f->connection);
}

/* Nobody asks for a reply that nobody awaits. */
static void only_what_is_awaited_is_asked_for(void **state)
{
    struct fixture *f = *state;

    connection_send(&f->connection, BYTES("reply"));
    read_all(f, 5);
    say(f, "next\n");
    AWAIT(f, f->lines.len > 0);
    assert_false(timer_is_armed(&f->kind.ack_timer));
    assert_int_equal(f->acks, 0);
}

/* A unix socket's bytes count as acknowledged when they are read. */
static void a_silent_client_is_asked_less_and_less(void **state)
{
    static const int64_t after_ms[] = {45, 135, 315, 675, 1395, 2395, 3395};
    struct fixture *f = *state;
    int64_t now_ms = timers_now(&f->kind.loop->timers), start_ms = now_ms;

    send_and_await(f, 100);
    for (unsigned i = 0; i < sizeof(after_ms) / sizeof(after_ms[0]); i++) {
        assert_int_equal(f->connection.ask_mono_ms - start_ms, after_ms[i]);
        pass(f, start_ms + after_ms[i] - now_ms);
        now_ms = start_ms + after_ms[i];
    }
    read_all(f, 100);
    pass(f, 999);
    assert_int_equal(f->acks, 0);
    pass(f, 1);
    assert_int_equal(f->acks, 1);
    assert_int_equal(f->connection.acked_bytes, 100);
}

/* The end that was sent counts like a byte. */
static void the_end_is_no_byte_of_a_reply(void **state)
{
    struct fixture *f = *state;

    f->kind.ending_ms = f->kind.ending_ack_ms = INT32_MAX;
    send_and_await(f, LARGE);
    connection_wind_up(&f->connection, "for the test");
    pass(f, 90);
    assert_false(f->is_closed);
    assert_true(f->connection.acked_bytes < LARGE);
    read_all(f, LARGE);
    AWAIT(f, f->is_closed);
    assert_int_equal(f->connection.acked_bytes, LARGE);
    assert_heard(f, ""); /* the end, without a reset */
}

static void what_was_reset_is_not_acknowledged(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, LARGE);
    close(f->peer); /* unread: a reset */
    f->peer = -1;
    AWAIT(f, f->is_closed);
    assert_true(f->connection.acked_bytes < LARGE);
    assert_true(f->connection.is_lost);
}

/* Its kernel has it all, but nobody will read it. No time passes, so that nobody has asked. */
static void a_reset_takes_what_was_acknowledged_along(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, 100);
    close(f->peer);
    f->peer = -1;
    AWAIT_TURNS(f, f->is_closed);
    assert_int_equal(f->connection.acked_bytes, 0);
}

/* As above, and the connection reads nothing at the time. */
static void a_reset_of_a_paused_connection_does_so_too(void **state)
{
    struct fixture *f = *state;

    say(f, "1\n2\n3\n4\n");
    AWAIT_TURNS(f, f->connection.is_paused);
    send_and_await(f, 100);
    close(f->peer);
    f->peer = -1;
    AWAIT_TURNS(f, f->is_closed);
    assert_int_equal(f->connection.acked_bytes, 0);
}

/* As above, and there is input before the reset. */
static void a_reset_behind_input_does_so_too(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, 100);
    give(f, "next\n");
    close(f->peer);
    f->peer = -1;
    AWAIT_TURNS(f, f->lines.len > 0 || f->is_closed);
    connection_wind_up(&f->connection, "for the test");
    assert_int_equal(f->connection.acked_bytes, 0);
    while (f->connection.in_work)
        connection_done(&f->connection);
}

/* As above, and it is a reply that meets the reset. */
static void a_reset_that_a_reply_meets_does_so_too(void **state)
{
    struct fixture *f = *state;

    send_and_await(f, 100);
    close(f->peer);
    f->peer = -1;
    connection_send(&f->connection, BYTES("reply"));
    assert_int_equal(f->connection.state, CONNECTION_CLOSED);
    assert_int_equal(f->connection.acked_bytes, 0);
}

static void the_wait_for_the_last_acknowledgement_ends(void **state)
{
    struct fixture *f = *state;

    f->kind.ending_ack_ms = CONNECTION_DRAIN_ACK_MS;
    send_and_await(f, 100);
    connection_wind_up(&f->connection, "for the test");
    pass(f, CONNECTION_DRAIN_ACK_MS - 1);
    assert_false(f->is_closed);
    pass(f, 1);
    assert_true(f->is_closed);
}

/* Reads until its kernel has taken some more: real time passes. */
static void read_a_little(struct fixture *f)
{
    uint64_t before = f->connection.acked_bytes;
    char bytes[512];

    AWAIT_TURNS(f, ((void)!take(f, bytes, sizeof(bytes), MSG_DONTWAIT),
                    connection_note_ack(&f->connection), f->connection.acked_bytes > before));
}

static void a_stop_waits_no_longer_for_a_peer_that_reads_a_little_at_a_time(void **state)
{
    struct fixture *f = *state;
    int64_t ms = 0;

    f->kind.ending_ack_ms = CONNECTION_DRAIN_ACK_MS;
    f->kind.is_draining = true;
    send_and_await(f, LARGE);
    pass(f, 10);
    connection_wind_up(&f->connection, "for the test");
    for (; !f->is_closed && ms < 3 * CONNECTION_DRAIN_ACK_MS; ms += 10) {
        read_a_little(f);
        pass(f, 10);
    }
    assert_int_equal(ms, CONNECTION_DRAIN_ACK_MS);
    assert_in_range(f->connection.acked_bytes, 1, LARGE - 1);
}

/* One that ends already, and has much time for that, has no more than the others. */
static void a_stop_shortens_the_time_of_those_that_end(void **state)
{
    static char bytes[LARGE];
    struct fixture *f = *state;

    f->kind.reading_ms = 60000;
    connection_send(&f->connection, bytes_of(bytes, LARGE));
    assert_true(stream_len(&f->connection.output) > 0);
    connection_wind_up(&f->connection, "for the test");
    pass(f, 4000);
    f->kind.reading_ms = 3000;
    connection_wind_up(&f->connection, "for the test");
    for (unsigned i = 0; i < 29; i++) {
        assert_true(take(f, bytes, 2048, 0) > 0);
        pass(f, 100);
    }
    assert_false(f->is_closed);
    assert_true(take(f, bytes, 2048, 0) > 0);
    pass(f, 100);
    assert_true(f->is_closed);
}

#define plain_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define over_tls(name, setup)                           \
    {                                                   \
#name "_over_tls", name, setup, tear_down, NULL \
    }

/* Both: plain and over TLS. */
#define connection_test(name) plain_test(name), over_tls(name, set_up_tls)
#define tcp_test(name) \
    cmocka_unit_test_setup_teardown(name, set_up_tcp, tear_down), over_tls(name, set_up_tcp_tls)

int main(void)
{
    const struct CMUnitTest tests[] = {
        connection_test(offers_again_what_was_not_used),
        connection_test(reads_no_further_while_too_much_is_in_work),
        connection_test(a_lower_limit_of_requests_in_work_leaves_none_behind),
        connection_test(limits_what_all_connections_keep),
        connection_test(ends_when_all_in_work_is_answered),
        connection_test(ends_at_once_when_nothing_is_in_work),
        connection_test(answers_a_peer_that_has_ended_its_side),
        connection_test(notices_the_peers_end_while_it_reads_nothing),
        connection_test(serves_what_came_before_the_peers_end),
        connection_test(notices_a_reset_while_it_reads_nothing),
        connection_test(watches_again_after_it_has_read),
        connection_test(gives_up_on_a_peer_that_does_not_read_its_last_replies),
        connection_test(notices_that_the_peer_is_gone_when_it_answers),
        connection_test(writes_the_rest_when_there_is_room_again),
        connection_test(cuts_off_a_peer_that_leaves_too_much_unread),
        plain_test(a_reply_has_a_time_to_be_read_in_however_steadily),
        plain_test(who_reads_each_reply_in_its_time_may_always_have_more_to_read),
        plain_test(the_last_replies_have_their_time_from_the_end_on),
        connection_test(cancels_what_is_in_work_fifty_milliseconds_after_the_peers_end),
        plain_test(cuts_off_the_slowest_when_all_together_leave_too_much_unread),
        plain_test(cuts_off_who_keeps_much_for_longest_when_all_together_keep_too_much),
        plain_test(keeps_no_more_than_the_protocol_says_when_there_is_enough_to_do),
        connection_test(what_the_protocol_sets_a_time_is_not_idle),
        connection_test(the_client_sees_the_end_and_may_still_send),
        connection_test(it_is_finished_before_the_client_sees_the_end),
        tcp_test(it_is_finished_when_its_client_ends_with_nothing_in_work),
        connection_test(a_new_idle_limit_holds_for_old_connections),
        tcp_test(what_the_clients_kernel_does_not_have_is_not_acknowledged),
        tcp_test(input_brings_the_acknowledgement_along),
        tcp_test(only_what_is_awaited_is_asked_for),
        connection_test(a_silent_client_is_asked_less_and_less),
        tcp_test(the_end_is_no_byte_of_a_reply),
        tcp_test(what_was_reset_is_not_acknowledged),
        tcp_test(a_reset_takes_what_was_acknowledged_along),
        tcp_test(a_reset_of_a_paused_connection_does_so_too),
        tcp_test(a_reset_behind_input_does_so_too),
        tcp_test(a_reset_that_a_reply_meets_does_so_too),
        connection_test(the_wait_for_the_last_acknowledgement_ends),
        tcp_test(a_stop_waits_no_longer_for_a_peer_that_reads_a_little_at_a_time),
        plain_test(a_stop_shortens_the_time_of_those_that_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
