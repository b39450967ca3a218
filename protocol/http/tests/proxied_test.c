/* Clients that come through a proxy at 127.0.0.2, which says who they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

#define PROXY     2 /* 127.0.0.2 */
#define FROM(end) BYTES("PROXY TCP4 " end " 127.0.0.1 7 8\r\n")

static int set_up(void **state)
{
    struct fixture *f;

    if (fixture_up(state))
        return -1;
    f = *state;
    port_set_proxies(http_port(f->http), BYTES("10.0.0.0/8,127.0.0.2"));
    return 0;
}

static int tear_down(void **state)
{
    dial_header = BYTES("");
    return fixture_down(state);
}

static const struct port_stats *stats_of(struct fixture *f)
{
    return &http_port(f->http)->stats;
}

static unsigned arriving(struct fixture *f)
{
    return http_port(f->http)->proxied.count;
}

/* A client of the proxy's, with this header. */
static struct client come(struct fixture *f, struct bytes header)
{
    uint64_t before = stats_of(f)->accepted + stats_of(f)->rejected;
    struct client c;

    dial_header = header;
    c = dial_from(f, f->loop, f->port, PROXY);
    dial_header = BYTES("");
    AWAIT(f, stats_of(f)->accepted + stats_of(f)->rejected > before);
    return c;
}

/* The server closes, perhaps by a reset: it has not read everything. */
static bool is_gone(const struct client *c)
{
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static const char *name_of_only_client(struct fixture *f)
{
    struct port *p = http_port(f->http);

    return peer_name(
               &CONTAINER_OF(list_first(&p->clients), struct port_client, link)->connection)
        .at;
}

static void a_client_is_the_one_that_its_proxy_names(void **state)
{
    static const struct {
        struct bytes header;
        const char *name;
    } cases[] = {
        {BYTES("PROXY TCP4 192.0.2.7 127.0.0.1 40712 8000\r\n"), "http 192.0.2.7:40712"},
        {BYTES("PROXY TCP6 2001:db8::7 ::1 40712 8000\r\n"), "http [2001:db8::7]:40712"},
        {BYTES("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\x07\x0a\0\0\1\x9f\x08\x1f\x40"),
         "http 10.0.0.7:40712"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct client c = come(*state, cases[i].header);

        say(&c, GET_LIVE);
        assert_starts(receive(&c), "HTTP/1.1 200 ");
        assert_string_equal(name_of_only_client(*state), cases[i].name);
        leave(&c);
        AWAIT(&c, stats_of(*state)->connections == 0);
    }
    assert_int_equal(stats_of(*state)->unproxied, 0);
}

static void a_proxy_that_speaks_for_itself_is_a_client(void **state)
{
    struct client c = come(*state, BYTES("PROXY UNKNOWN\r\n"));

    say(&c, GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_int_equal(strncmp(name_of_only_client(*state), "http 127.0.0.2:", 15), 0);
    leave(&c);
}

static void limits_by_address_hold_for_each_client_behind_it(void **state)
{
    struct fixture *f = *state;
    struct client a, b, again;

    f->options.connections_per_address = 1;
    http_reload(http_port(f->http), &f->options);
    a = come(f, FROM("192.0.2.1"));
    b = come(f, FROM("192.0.2.2"));
    again = come(f, FROM("192.0.2.1"));
    say(&a, GET_LIVE);
    assert_starts(receive(&a), "HTTP/1.1 200 ");
    say(&b, GET_LIVE);
    assert_starts(receive(&b), "HTTP/1.1 200 ");
    say(&again, "GET /v1/topics HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_starts(receive_all(&again), "HTTP/1.1 503 ");
    leave(&a);
    leave(&b);
    leave(&again);
}

static void a_header_may_come_in_pieces_with_the_request_behind_it(void **state)
{
    static const char header[] = "PROXY TCP4 192.0.2.7 127.0.0.1 40712 8000\r\n";
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    c = dial_from(f, f->loop, f->port, PROXY);
    for (size_t i = 0; i + 1 < sizeof(header) - 1; i++) {
        say_bytes(&c, bytes_of(header + i, 1));
        fixture_turn(f);
        fixture_turn(f);
        assert_int_equal(arriving(f), 1);
    }
    assert_int_equal(stats_of(f)->accepted, 0);
    say(&c, "\n" GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    assert_string_equal(name_of_only_client(f), "http 192.0.2.7:40712");
    assert_int_equal(arriving(f), 0);
    leave(&c);
}

static void a_proxy_without_a_header_is_closed(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    c = dial_from(f, f->loop, f->port, PROXY);
    say(&c, GET_LIVE);
    AWAIT(f, stats_of(f)->unproxied == 1);
    assert_true(is_gone(&c));
    assert_int_equal(stats_of(f)->accepted, 0);
    leave(&c);
}

static void a_header_that_does_not_come_is_waited_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct client silent, slow;

    only_for_plain_clients();
    silent = dial_from(f, f->loop, f->port, PROXY);
    slow = dial_from(f, f->loop, f->port, PROXY);
    AWAIT(f, arriving(f) == 2);
    say(&slow, "PROXY TCP4 192.0.2.7 ");
    fixture_pass(f, PROXIED_MS - 100);
    assert_int_equal(arriving(f), 2);
    fixture_pass(f, 200);
    assert_int_equal(arriving(f), 0);
    assert_int_equal(stats_of(f)->unproxied, 2);
    assert_true(is_gone(&silent) && is_gone(&slow));
    leave(&silent);
    leave(&slow);
}

/* As a balancer's check does. */
static void a_proxy_that_only_connects_is_no_mistake(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    c = dial_from(f, f->loop, f->port, PROXY);
    AWAIT(f, arriving(f) == 1);
    leave(&c);
    AWAIT(f, arriving(f) == 0);
    assert_int_equal(stats_of(f)->unproxied, 0);
}

static void a_header_from_anybody_else_is_a_bad_request(void **state)
{
    struct client c;

    only_for_plain_clients();
    c = connect_client(*state);
    say(&c, "PROXY TCP4 192.0.2.7 127.0.0.1 40712 8000\r\n" GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 400 ");
    assert_has(buf_text(&c.f->reply), "is not in http.proxies");
    leave(&c);
    c = connect_client(*state);
    say_bytes(&c, BYTES("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0" GET_LIVE));
    assert_starts(receive(&c), "HTTP/1.1 400 ");
    leave(&c);
}

static void a_full_port_hears_a_few_all_the_same(void **state)
{
    struct fixture *f = *state;
    struct client c[3], over;

    for (unsigned i = 0; i < 3; i++)
        c[i] = come(f, FROM("192.0.2.1"));
    over = come(f, FROM("192.0.2.1"));
    say(&over, GET_LIVE);
    assert_starts(receive(&over), "HTTP/1.1 200 ");
    leave(&over);
    for (unsigned i = 0; i < 3; i++)
        leave(&c[i]);
}

static void silent_ones_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct client c[40];
    uint64_t rejected = 40 - 32; /* ARRIVING_SPARE, for 3 connections at most */

    only_for_plain_clients();
    for (unsigned i = 0; i < 40; i++)
        c[i] = dial_from(f, f->loop, f->port, PROXY);
    AWAIT(f, arriving(f) + stats_of(f)->rejected == 40);
    assert_int_equal(stats_of(f)->rejected, rejected);
    for (unsigned i = 0; i < 40; i++)
        leave(&c[i]);
}

static void a_stop_does_not_wait_for_a_header(void **state)
{
    struct fixture *f = *state;
    struct client c;

    only_for_plain_clients();
    c = dial_from(f, f->loop, f->port, PROXY);
    AWAIT(f, arriving(f) == 1);
    fixture_stop(f);
    AWAIT(f, f->is_stopped);
    assert_true(is_gone(&c));
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_is_the_one_that_its_proxy_names),
        TEST(a_proxy_that_speaks_for_itself_is_a_client),
        TEST(limits_by_address_hold_for_each_client_behind_it),
        TEST(a_header_may_come_in_pieces_with_the_request_behind_it),
        TEST(a_proxy_without_a_header_is_closed),
        TEST(a_header_that_does_not_come_is_waited_for_a_while),
        TEST(a_proxy_that_only_connects_is_no_mistake),
        TEST(a_header_from_anybody_else_is_a_bad_request),
        TEST(a_full_port_hears_a_few_all_the_same),
        TEST(silent_ones_are_bounded),
        TEST(a_stop_does_not_wait_for_a_header),
    };

    return cmocka_run_group_tests_name("proxied", tests, NULL, NULL);
}
