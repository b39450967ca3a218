/* Whether a client speaks TLS: its hello, and the handshake within its time. */
#include "protocol/conn/tests/tls_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/ssl.h>

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

/* ---- what is agreed on ---- */

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
        tls_test(the_application_is_agreed_on_where_it_is_offered),
        tls_test(versions_before_1_2_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
