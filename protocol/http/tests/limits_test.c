/* How much an address and an identity may ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

#define OF(status) "HTTP/1.1 " status " "

static struct fixture *limit(void **state, struct port_address_limits of_address)
{
    struct fixture *f = *state;

    f->options.connections_max = 100;
    f->options.of_address = of_address;
    http_reload(http_port(f->http), &f->options);
    return f;
}

static const struct port_stats *stats_of(const struct fixture *f)
{
    return &http_port(f->http)->stats;
}

#define GET_STATUS "GET /v1/status HTTP/1.1\r\nHost: h\r\n\r\n"

static void expect_reply(struct client *c, const char *request, const char *start)
{
    say(c, request);
    assert_starts(receive(c), start);
}

/* ---- of an address ---- */

static void requests_over_the_rate_are_told_to_wait(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 5});
    struct client c = connect_client(f), other = connect_from(f, 2);

    for (unsigned i = 0; i < 5; i++)
        expect_reply(&c, GET_STATUS, OF("200"));
    expect_reply(&c, GET_STATUS, OF("429"));
    assert_has(buf_text(&f->reply), "\r\nRetry-After: 1\r\n");
    assert_has(buf_text(&f->reply), "\"too_many_requests\"");
    assert_has(buf_text(&f->reply), "limits.requests_per_address");
    assert_int_equal(stats_of(f)->slowed, 1);
    expect_reply(&other, GET_STATUS, OF("200"));
    leave(&c);
    leave(&other);
}

/* Each answer costs what a request costs: a client that goes on gets one a second. */
static void behind_that_answer_nothing_is_read_for_a_second(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_STATUS, OF("200"));
    expect_reply(&c, GET_STATUS, OF("429"));
    say(&c, GET_STATUS);
    fixture_pass(f, 900);
    assert_int_equal(stats_of(f)->requests, 2);
    fixture_pass(f, 200);
    assert_starts(receive(&c), OF("200"));
    leave(&c);
}

static void connecting_anew_gives_no_new_allowance(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 3});

    for (unsigned i = 0; i < 6; i++)
        assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: h\r\n" CLOSE),
                      i < 3 ? OF("200") : OF("429"));
    fixture_pass(f, 1000);
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: h\r\n" CLOSE), OF("200"));
}

static void health_is_told_over_the_rate_too_but_not_faster(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_LIVE, OF("200"));
    expect_reply(&c, GET_LIVE, OF("200"));
    say(&c, GET_LIVE);
    fixture_pass(f, 900);
    assert_int_equal(stats_of(f)->requests, 2);
    leave(&c);
}

static void a_push_over_the_rate_is_refused_before_its_body(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_STATUS, OF("200"));
    expect_reply(&c,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n"
                 "Expect: 100-continue\r\n\r\n",
                 OF("429"));
    leave(&c);
}

static void a_stop_does_not_wait_for_a_client_that_is_slowed(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_STATUS, OF("200"));
    expect_reply(&c, GET_STATUS, OF("429"));
    fixture_stop(f);
    fixture_pass(f, 300);
    expect_end(&c);
    leave(&c);
}

static void connections_over_the_rate_are_closed(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.connects = 2});
    struct client c[3], other;

    for (unsigned i = 0; i < 3; i++)
        c[i] = connect_client(f);
    expect_reply(&c[0], GET_STATUS, OF("200"));
    expect_reply(&c[1], GET_STATUS, OF("200"));
    expect_end(&c[2]);
    assert_int_equal(stats_of(f)->rejected, 1);
    other = connect_from(f, 2);
    expect_reply(&other, GET_STATUS, OF("200"));
    for (unsigned i = 0; i < 3; i++)
        leave(&c[i]);
    leave(&other);
    fixture_pass(f, 500);
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: h\r\n" CLOSE), OF("200"));
}

/* A body that has not come takes nothing, and 4 KiB are never refused. */
static void bytes_in_work_are_bounded_for_an_address(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.bytes = 200000});
    struct client c = connect_client(f), more = connect_client(f), other = connect_from(f, 2);
    static char body[100000];

    memset(body, 'x', sizeof(body));
    say(&c, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n\r\n");
    say_bytes(&c, bytes_of(body, sizeof(body)));
    AWAIT(f, f->http->body_bytes[true] >= sizeof(body));
    expect_reply(&more,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n\r\n",
                 OF("429"));
    assert_has(buf_text(&f->reply), "limits.bytes_per_address");
    leave(&more);
    more = connect_client(f);
    expect_reply(&more,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n"
                 "{\"body\":\"b\"}",
                 OF("201"));
    say(&other, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n"
                "Expect: 100-continue\r\n\r\n");
    assert_starts(receive(&other), OF("100"));
    leave(&c);
    leave(&more);
    leave(&other);
}

static void a_chunked_body_is_bounded_as_it_grows(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.bytes = 100000});
    struct client c = connect_client(f);
    static char body[100001];

    memset(body, 'x', sizeof(body));
    say(&c, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            "186a1\r\n");
    say_bytes(&c, bytes_of(body, sizeof(body)));
    assert_starts(receive(&c), OF("429"));
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_over_the_rate_are_told_to_wait),
        TEST(behind_that_answer_nothing_is_read_for_a_second),
        TEST(connecting_anew_gives_no_new_allowance),
        TEST(health_is_told_over_the_rate_too_but_not_faster),
        TEST(a_push_over_the_rate_is_refused_before_its_body),
        TEST(a_stop_does_not_wait_for_a_client_that_is_slowed),
        TEST(connections_over_the_rate_are_closed),
        TEST(bytes_in_work_are_bounded_for_an_address),
        TEST(a_chunked_body_is_bounded_as_it_grows),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
