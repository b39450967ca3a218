/* How much an address and an identity may ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

#define GET_TOPICS "GET /v1/topics HTTP/1.1\r\nHost: h\r\n\r\n"

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
        expect_reply(&c, GET_TOPICS, OF("200"));
    expect_reply(&c, GET_TOPICS, OF("429"));
    assert_has(buf_text(&f->reply), "\r\nRetry-After: 1\r\n");
    assert_has(buf_text(&f->reply), "\"too_many_requests\"");
    assert_has(buf_text(&f->reply), "limits.requests_per_address");
    assert_int_equal(stats_of(f)->slowed, 1);
    expect_reply(&other, GET_TOPICS, OF("200"));
    leave(&c);
    leave(&other);
}

/* Each answer costs what a request costs: a client that goes on gets one a second. */
static void behind_that_answer_nothing_is_read_for_a_second(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_TOPICS, OF("200"));
    expect_reply(&c, GET_TOPICS, OF("429"));
    say(&c, GET_TOPICS);
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
        assert_starts(ask(f, "GET /v1/topics HTTP/1.1\r\nHost: h\r\n" CLOSE),
                      i < 3 ? OF("200") : OF("429"));
    fixture_pass(f, 1000);
    assert_starts(ask(f, "GET /v1/topics HTTP/1.1\r\nHost: h\r\n" CLOSE), OF("200"));
}

static void health_has_a_rate_of_its_own_and_is_told_over_it_too_but_later(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_LIVE, OF("200"));
    expect_reply(&c, GET_TOPICS, OF("200"));
    expect_reply(&c, GET_LIVE, OF("200"));
    say(&c, GET_LIVE);
    fixture_pass(f, 900);
    assert_int_equal(stats_of(f)->requests, 3);
    leave(&c);
}

static void a_push_over_the_rate_is_refused_before_its_body(void **state)
{
    struct fixture *f = limit(state, (struct port_address_limits){.requests = 1});
    struct client c = connect_client(f);

    expect_reply(&c, GET_TOPICS, OF("200"));
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

    expect_reply(&c, GET_TOPICS, OF("200"));
    expect_reply(&c, GET_TOPICS, OF("429"));
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
    expect_reply(&c[0], GET_TOPICS, OF("200"));
    expect_reply(&c[1], GET_TOPICS, OF("200"));
    expect_end(&c[2]);
    assert_int_equal(stats_of(f)->rejected, 1);
    other = connect_from(f, 2);
    expect_reply(&other, GET_TOPICS, OF("200"));
    for (unsigned i = 0; i < 3; i++)
        leave(&c[i]);
    leave(&other);
    fixture_pass(f, 500);
    assert_starts(ask(f, "GET /v1/topics HTTP/1.1\r\nHost: h\r\n" CLOSE), OF("200"));
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

/* How much of its request the client's connection has read. */
static size_t read_of(const struct fixture *f, const struct client *c)
{
    struct sockaddr_in own = {.sin_port = 0};
    socklen_t len = sizeof(own);

    assert_int_equal(getsockname(c->fd, (struct sockaddr *)&own, &len), 0);
    LIST_EACH (link, &http_port(f->http)->clients) {
        struct connection *it = &CONTAINER_OF(link, struct port_client, link)->connection;

        if (it->end.port == own.sin_port)
            return stream_len(&it->input);
    }
    fail_msg("it is not connected");
    return 0;
}

/* Says so much of a header; was something read within a few turns? */
static bool reads_more(struct fixture *f, struct client *c, size_t len)
{
    static const char header[] = {[0 ... 4095] = 'x'};
    size_t before = read_of(f, c);

    assert_true(len <= sizeof(header));
    say_bytes(c, bytes_of(header, len));
    for (unsigned turn = 0; turn < 3; turn++)
        fixture_turn(f);
    return read_of(f, c) > before;
}

static void begin_request(struct fixture *f, struct client *c)
{
    int on = 1;

    assert_int_equal(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    say(c, "GET /v1/topics HTTP/1.1\r\nHost: h\r\nX: ");
    AWAIT(f, read_of(f, c) > 0);
}

static void send_crumbs_until_it_rests(struct fixture *f, struct client *c)
{
    unsigned reads = 0;

    begin_request(f, c);
    while (reads_more(f, c, 1))
        reads++;
    assert_in_range(reads, 20, 40);
}

/* Until its rest is over; how much more was read then. */
static size_t end_its_rest(struct fixture *f, const struct client *c)
{
    size_t before = read_of(f, c);

    for (unsigned ms = 0; ms < 100 && read_of(f, c) == before; ms++)
        fixture_pass(f, 1);
    return read_of(f, c) - before;
}

static void a_request_in_crumbs_is_read_now_and_then(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_crumbs_until_it_rests(f, &c);
    assert_int_equal(end_its_rest(f, &c), 1);
    for (unsigned i = 0; i < 4; i++) {
        assert_false(reads_more(f, &c, 200)); /* too little to earn it other crumbs */
        assert_int_equal(end_its_rest(f, &c), 200);
    }
    expect_reply(&c, "\r\n\r\n", OF("200"));
    expect_reply(&c, GET_TOPICS, OF("200")); /* it is read as ever */
    leave(&c);
}

static void much_of_a_request_makes_up_for_crumbs(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    send_crumbs_until_it_rests(f, &c);
    assert_false(reads_more(f, &c, 4096));
    assert_int_equal(end_its_rest(f, &c), 4097);
    for (unsigned i = 0; i < 4; i++)
        assert_true(reads_more(f, &c, 1));
    leave(&c);
}

static void those_who_rest_together_go_on_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f), other = connect_client(f);
    size_t before;

    begin_request(f, &c);
    begin_request(f, &other);
    do {
        before = read_of(f, &c);
        say(&c, "x");
    } while (reads_more(f, &other, 1));
    assert_int_equal(read_of(f, &c), before); /* it rests, too */
    assert_int_equal(read_of(f, &other), before);
    while (read_of(f, &c) + read_of(f, &other) == 2 * before)
        fixture_pass(f, 1);
    assert_true(read_of(f, &c) == before || read_of(f, &other) == before);
    leave(&c);
    leave(&other);
}

/* ---- of an identity ---- */

static struct access *known;

static void know(const char *shop)
{
    struct buf text = BUF_INIT, why = BUF_INIT;

    add_identity(&text, shop, "shop");
    add_identity(&text, "mill all", "mill");
    assert_int_equal(access_take(known, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
    buf_fini(&why);
}

static int up_with_access(void **state)
{
    struct fixture *f;

    if (fixture_up(state))
        return -1;
    f = limit(state, (struct port_address_limits){0});
    known = access_new();
    f->options.access = known;
    f->options.as = "";
    http_reload(http_port(f->http), &f->options);
    return 0;
}

static int down_with_access(void **state)
{
    int result = fixture_down(state);

    access_free(known);
    return result;
}

#define GET_AS(token) \
    "GET /v1/topics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " token "\r\n\r\n"
#define POP_AS(token)                                                                         \
    "POST /v1/topics/t/pop?wait_ms=60000 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " token \
    "\r\n\r\n"

static void a_rate_is_of_all_connections_of_an_identity(void **state)
{
    struct client a = connect_client(*state), b = connect_from(*state, 2),
                  other = connect_client(*state);

    know("shop all rate=3");
    expect_reply(&a, GET_AS("shop"), OF("200"));
    expect_reply(&b, GET_AS("shop"), OF("200"));
    expect_reply(&a, GET_AS("shop"), OF("200"));
    expect_reply(&b, GET_AS("shop"), OF("429"));
    assert_has(buf_text(&b.f->reply), "(its rate)");
    expect_reply(&other, GET_AS("mill"), OF("200"));
    know("shop inspect rate=3");
    expect_reply(&a, GET_AS("shop"), OF("429")); /* another line, the same allowance */
    fixture_pass(*state, 1000);
    expect_reply(&a, GET_AS("shop"), OF("200"));
    leave(&a);
    leave(&b);
    leave(&other);
}

static void an_identity_has_no_more_connections_than_it_may(void **state)
{
    struct client a = connect_client(*state), b = connect_client(*state);

    know("shop all connections=1");
    expect_reply(&a, GET_AS("shop"), OF("200"));
    expect_reply(&a, GET_AS("shop"), OF("200"));
    expect_reply(&b, GET_AS("shop"), OF("429"));
    assert_has(buf_text(&b.f->reply), "(its connections)");
    expect_reply(&b, GET_AS("mill"), OF("200"));
    expect_reply(&a, GET_AS("mill"), OF("200")); /* and is shop's no more */
    expect_reply(&b, GET_AS("shop"), OF("200"));
    leave(&b);
    AWAIT(&a, stats_of(*state)->connections == 1);
    expect_reply(&a, GET_AS("shop"), OF("200"));
    leave(&a);
}

static void bytes_in_work_are_bounded_for_an_identity(void **state)
{
    struct fixture *f = *state;
    struct client a = connect_client(f), b = connect_from(f, 2);
    static char body[100000];

    know("shop all bytes=200000");
    memset(body, 'x', sizeof(body));
    say(&a, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer shop\r\n"
            "Content-Length: 150000\r\n\r\n");
    say_bytes(&a, bytes_of(body, sizeof(body)));
    AWAIT(f, f->http->body_bytes[true] >= sizeof(body));
    expect_reply(&b,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer shop\r\n"
                 "Content-Length: 150000\r\n\r\n",
                 OF("429"));
    assert_has(buf_text(&f->reply), "(its bytes)");
    reset(&a);
    AWAIT(f, f->http->body_bytes[true] == 0);
    leave(&b);
    b = connect_client(f);
    say(&b, "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer shop\r\n"
            "Content-Length: 150000\r\nExpect: 100-continue\r\n\r\n");
    assert_starts(receive(&b), OF("100"));
    leave(&b);
}

static void
behind_too_many_connections_of_an_identity_nothing_is_read_for_a_second(void **state)
{
    struct fixture *f = *state;
    struct client a = connect_client(f), b = connect_client(f);

    know("shop all connections=1");
    expect_reply(&a, GET_AS("shop"), OF("200"));
    expect_reply(&b, GET_AS("shop"), OF("429"));
    say(&b, GET_AS("mill"));
    fixture_pass(f, 900);
    assert_int_equal(stats_of(f)->requests, 2);
    fixture_pass(f, 100);
    assert_starts(receive(&b), OF("200"));
    leave(&a);
    leave(&b);
}

/* ---- an identity that goes while its request waits ---- */

static void a_long_poll_ends_with_its_identity(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), stays = connect_client(f);

    know("shop all");
    say(&gone, POP_AS("shop"));
    say(&stays, POP_AS("mill"));
    AWAIT(f, queue_stats(f->queue)->waiting == 2);
    know("shop inspect");
    port_recheck(http_port(f->http));
    assert_starts(receive(&gone), OF("200"));
    assert_has(buf_text(&f->reply), "\"jobs\":[]");
    fixture_turn(f);
    assert_int_equal(queue_stats(f->queue)->waiting, 1);
    expect_reply(&gone, POP_AS("shop"), OF("403"));
    leave(&gone);
    leave(&stays);
}

/* http.as is another one, or none, while the poll waits. */
static void a_long_poll_ends_when_the_port_gives_its_identity_no_more(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f), of_token = connect_client(f);

    know("shop all");
    f->options.as = "shop";
    http_reload(http_port(f->http), &f->options);
    say(&c, "POST /v1/topics/t/pop?wait_ms=60000 HTTP/1.1\r\nHost: h\r\n\r\n");
    say(&of_token, POP_AS("shop"));
    AWAIT(f, queue_stats(f->queue)->waiting == 2);
    port_recheck(http_port(f->http));
    fixture_turn(f);
    assert_int_equal(queue_stats(f->queue)->waiting, 2);
    f->options.as = "mill";
    http_reload(http_port(f->http), &f->options);
    port_recheck(http_port(f->http));
    assert_starts(receive(&c), OF("200"));
    assert_has(buf_text(&f->reply), "\"jobs\":[]");
    fixture_turn(f);
    assert_int_equal(queue_stats(f->queue)->waiting, 1);
    leave(&c);
    leave(&of_token);
}

/* The answer with the job is on its way already. */
static void no_job_is_handed_to_an_identity_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), next = connect_client(f);

    know("shop all");
    expect_reply(&next,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer mill\r\n"
                 "Content-Length: 12\r\n\r\n{\"body\":\"b\"}",
                 OF("201"));
    memory_store_hold(f->ms);
    say(&gone, POP_AS("shop"));
    fixture_turn(f);
    fixture_turn(f);
    know("shop inspect");
    memory_store_unhold(f->ms);
    assert_starts(receive(&gone), OF("200"));
    assert_has(buf_text(&f->reply), "\"jobs\":[]");
    expect_reply(&next, POP_AS("mill"), OF("200"));
    assert_has(buf_text(&f->reply), "\"body\":\"b\"");
    assert_has(buf_text(&f->reply), "\"tries\":0");
    leave(&gone);
    leave(&next);
}

static void an_identity_that_expires_gets_nothing_any_more(void **state)
{
    struct fixture *f = *state;
    struct client gone = connect_client(f), next = connect_client(f);

    know("shop all until=2099-01-01T00:00:00Z");
    say(&gone, POP_AS("shop"));
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    access_of_name(known, BYTES("shop"), 0)->until_ms = 1;
    expect_reply(&next,
                 "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer mill\r\n"
                 "Content-Length: 12\r\n\r\n{\"body\":\"b\"}",
                 OF("201"));
    assert_starts(receive(&gone), OF("200"));
    assert_has(buf_text(&f->reply), "\"jobs\":[]");
    expect_reply(&next, POP_AS("mill"), OF("200"));
    assert_has(buf_text(&f->reply), "\"body\":\"b\"");
    leave(&gone);
    leave(&next);
}

/* 10 at once, and then the clients get one answer a second each. */
static void a_flood_of_wrong_tokens_is_read_slowly(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f), other = connect_from(f, 2);

    know("shop all");
    for (unsigned i = 0; i < ACCESS_ATTEMPTS; i++)
        expect_reply(&c, GET_AS("wrong"), OF("401"));
    expect_reply(&c, GET_AS("wrong"), OF("429"));
    say(&c, GET_AS("wrong"));
    expect_reply(&other, GET_AS("mill"), OF("200"));
    fixture_pass(f, 900);
    assert_int_equal(stats_of(f)->requests, ACCESS_ATTEMPTS + 2);
    leave(&c);
    leave(&other);
}

#define WITH_ACCESS(name) \
    cmocka_unit_test_setup_teardown(name, up_with_access, down_with_access)
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_over_the_rate_are_told_to_wait),
        TEST(behind_that_answer_nothing_is_read_for_a_second),
        TEST(connecting_anew_gives_no_new_allowance),
        TEST(health_has_a_rate_of_its_own_and_is_told_over_it_too_but_later),
        TEST(a_push_over_the_rate_is_refused_before_its_body),
        TEST(a_stop_does_not_wait_for_a_client_that_is_slowed),
        TEST(connections_over_the_rate_are_closed),
        TEST(bytes_in_work_are_bounded_for_an_address),
        TEST(a_chunked_body_is_bounded_as_it_grows),
        TEST(a_request_in_crumbs_is_read_now_and_then),
        TEST(much_of_a_request_makes_up_for_crumbs),
        TEST(those_who_rest_together_go_on_one_after_the_other),
        WITH_ACCESS(a_rate_is_of_all_connections_of_an_identity),
        WITH_ACCESS(an_identity_has_no_more_connections_than_it_may),
        WITH_ACCESS(bytes_in_work_are_bounded_for_an_identity),
        WITH_ACCESS(a_long_poll_ends_with_its_identity),
        WITH_ACCESS(a_long_poll_ends_when_the_port_gives_its_identity_no_more),
        WITH_ACCESS(behind_too_many_connections_of_an_identity_nothing_is_read_for_a_second),
        WITH_ACCESS(no_job_is_handed_to_an_identity_that_is_gone),
        WITH_ACCESS(an_identity_that_expires_gets_nothing_any_more),
        WITH_ACCESS(a_flood_of_wrong_tokens_is_read_slowly),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
