/* Bytes over TLS: both ways, acknowledged, with new keys, and at the end. */
#include "protocol/conn/tests/tls_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/ssl.h>

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
    static char much[1 << 17];
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
    for (unsigned i = 0; i < 40; i++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
