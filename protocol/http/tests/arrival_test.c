/* Bodies: how they come to a handler, and how much of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/api/handlers.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

/* In the place of the API's: answers with what it has got. */
static void own_api_push(struct exchange *x)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%.*s %zu ", BYTES_ARG(x->topic), x->body.len);
    buf_add_bytes(&text, x->body);
    exchange_reply(x, 201, "text/plain", buf_bytes(&text));
    buf_fini(&text);
}

static int up(void **state)
{
    static const struct stand_in stand_ins[] = {
        {api_push, own_api_push},
    };

    return fixture_up_with(state, stand_ins, sizeof(stand_ins) / sizeof(*stand_ins));
}

#define PUSH "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n"

static size_t body_bytes(const struct fixture *f)
{
    return f->http->body_bytes[false] + f->http->body_bytes[true];
}

static void gives_a_handler_the_whole_body(void **state)
{
    struct client c = connect_client(*state);

    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    expect_silence(&c);
    say(&c, " world");
    assert_has(receive(&c), "\r\n\r\nt 11 hello world");
    say(&c, PUSH "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_has(receive(&c), "\r\n\r\nt 5 abcde");
    say(&c, PUSH "\r\n" PUSH "Content-Length: 1\r\n\r\nx");
    assert_has(receive(&c), "\r\n\r\nt 0 ");
    assert_has(receive(&c), "\r\n\r\nt 1 x");
    leave(&c);
}

static struct bytes large(size_t len)
{
    struct bytes body = {malloc(len), len};

    assert_non_null(body.at);
    memset((char *)body.at, 'x', len);
    return body;
}

static void takes_a_body_as_large_as_the_limit_and_gives_its_memory_back(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct bytes body = large(f->options.body_max_bytes);

    say(&c, PUSH "Content-Length: 200000\r\n\r\n");
    say_bytes(&c, bytes_of(body.at, body.len - 1));
    AWAIT(f, body_bytes(f) >= body.len - 1);
    say(&c, "y");
    assert_has(receive(&c), "\r\n\r\nt 200000 xxx");
    assert_int_equal(body_bytes(f), 0);
    free((char *)body.at);
    leave(&c);
}

static void refuses_a_body_above_the_limit_of_its_path_before_it_comes(void **state)
{
    static const char *const requests[] = {
        PUSH "Content-Length: 200001\r\n\r\n",
        PUSH "Content-Length: 200001\r\nExpect: 100-continue\r\n\r\n",
        PUSH "Transfer-Encoding: chunked\r\n\r\n30d41\r\n",
        "POST /v1/topics/t/jobs/i/ack HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n",
        "POST /v1/topics/t/pop HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n",
        "GET /v1/topics HTTP/1.1\r\nHost: h\r\nContent-Length: 4097\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct client c = connect_client(*state);
        const char *reply;

        say(&c, requests[i]);
        reply = receive(&c);
        assert_starts(reply, "HTTP/1.1 413 Content Too Large\r\n");
        assert_has(reply, "\r\nConnection: close\r\n");
        leave(&c);
    }
}

static void all_bodies_together_have_a_limit_that_announcing_does_not_use_up(void **state)
{
    struct fixture *f = *state;
    struct client first = connect_client(f), second = connect_client(f);
    struct bytes body = large(200000);

    say(&second, PUSH "Content-Length: 200000\r\n\r\n");
    say(&first, PUSH "Content-Length: 200000\r\n\r\n");
    say_bytes(&first, bytes_of(body.at, body.len - 1));
    AWAIT(f, body_bytes(f) >= body.len - 1);
    say_bytes(&second, body);
    assert_starts(receive(&second), "HTTP/1.1 503 ");
    assert_has(buf_text(&f->reply), "\r\nRetry-After: 1\r\n");
    assert_has(buf_text(&f->reply), "limits.http_bodies_bytes");
    leave(&second);
    second = connect_client(f);
    say(&second, PUSH "Content-Length: 150000\r\nExpect: 100-continue\r\n\r\n");
    assert_starts(receive(&second), "HTTP/1.1 503 ");
    leave(&second);
    say(&first, "y");
    assert_starts(receive(&first), "HTTP/1.1 201 Created\r\n");
    assert_int_equal(body_bytes(f), 0);
    free((char *)body.at);
    leave(&first);
}

/* However it comes, and to the byte. */
static void one_body_may_use_up_the_limit_of_all(void **state)
{
    static const char *const heads[] = {
        PUSH "Content-Length: 200000\r\n\r\n",
        PUSH "Transfer-Encoding: chunked\r\n\r\n30d40\r\n",
    };
    struct fixture *f = *state;
    struct bytes body = large(f->options.body_max_bytes);

    f->options.bodies_max_bytes = f->options.body_max_bytes;
    http_reload(http_port(f->http), &f->options);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct client c = connect_client(f);

        say(&c, heads[i]);
        for (size_t sent = 0; sent < body.len; sent += 5000) {
            say_bytes(&c, bytes_of(body.at + sent, 5000));
            fixture_turn(f);
            assert_in_range(body_bytes(f), 0, f->options.bodies_max_bytes);
            /* Announced or not, it counts as a large one when it has become one. */
            if (sent + 5000 > ROUTE_SMALL_BYTES)
                assert_int_equal(f->http->body_bytes[false], 0);
        }
        say(&c, i ? "\r\n0\r\n\r\n" : "");
        assert_has(receive(&c), "\r\n\r\nt 200000 xxx");
        assert_int_equal(body_bytes(f), 0);
        leave(&c);
    }
    free((char *)body.at);
}

/* Their memory doubles as they grow; none of the steps goes beyond the limit. */
static void several_growing_bodies_stay_within_the_limit_of_all(void **state)
{
    struct fixture *f = *state;
    struct client clients[3];
    struct bytes body = large(f->options.body_max_bytes);

    for (unsigned i = 0; i < 3; i++) {
        clients[i] = connect_client(f);
        say(&clients[i], PUSH "Content-Length: 200000\r\n\r\n");
    }
    for (size_t sent = 0; sent < body.len; sent += 5000)
        for (unsigned i = 0; i < 3; i++) {
            say_bytes(&clients[i], bytes_of(body.at + sent, 5000));
            fixture_turn(f);
            assert_in_range(body_bytes(f), 0, f->options.bodies_max_bytes);
        }
    AWAIT(f, body_bytes(f) == 0);
    assert_in_range(f->api.errors[HTTP_ERROR_BODIES], 1, 2);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
    free((char *)body.at);
}

/* ---- one for all, and nobody waits for the slow ---- */

static void allow_connections(struct fixture *f, unsigned count)
{
    f->options.connections_max = count;
    http_reload(http_port(f->http), &f->options);
}

static const struct http_client *last_client(const struct fixture *f)
{
    return CONTAINER_OF(f->http->port.clients.prev, struct http_client, base.link);
}

/* Has so much of the body come of the client that came last? */
static bool has_come(const struct fixture *f, size_t len)
{
    const struct http_client *last = last_client(f);

    return last->request && last->request->content.len == len;
}

/* A client whose body of `len` bytes has come but for the last. */
static struct client send_all_but_one(struct fixture *f, unsigned host, size_t len)
{
    struct client c = connect_from(f, host);
    struct buf head = BUF_INIT;
    struct bytes body = large(len);

    buf_printf(&head, PUSH "Content-Length: %zu\r\n\r\n", len);
    say(&c, buf_text(&head));
    say_bytes(&c, bytes_of(body.at, len - 1));
    AWAIT(f, has_come(f, len - 1));
    free((char *)body.at);
    buf_fini(&head);
    return c;
}

static void expect_displaced(struct client *c)
{
    const char *reply = receive(c);

    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "\r\nRetry-After: 1\r\n");
    assert_has(reply,
               "\"code\":\"too_many\",\"message\":\"others needed the room of this body");
    leave(c);
}

static void expect_created(struct client *c)
{
    say(c, "y");
    assert_starts(receive(c), "HTTP/1.1 201 Created\r\n");
    leave(c);
}

static void small_bodies_never_wait_for_large_ones(void **state)
{
    struct fixture *f = *state;
    struct client first, second, c;

    allow_connections(f, 20);
    first = send_all_but_one(f, 1, 200000);
    second = send_all_but_one(f, 1, 100000);
    c = send_all_but_one(f, 1, 65536);
    assert_int_equal(f->http->body_bytes[true], f->options.bodies_max_bytes);
    expect_created(&c);
    c = connect_client(f);
    say(&c, PUSH "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    expect_silence(&c);
    say(&c, "1\r\nd\r\n0\r\n\r\n");
    assert_has(receive(&c), "\r\n\r\nt 4 abcd");
    leave(&c);
    expect_created(&first);
    expect_created(&second);
}

/* 1 MiB, and 16 of 65,536 bytes. */
static void the_smallest_bodies_never_wait_for_small_ones(void **state)
{
    struct fixture *f = *state;
    struct client small[16], c;

    allow_connections(f, 20);
    for (unsigned i = 0; i < 16; i++)
        small[i] = send_all_but_one(f, 1, 65536);
    c = connect_client(f);
    say(&c, PUSH "Content-Length: 4097\r\n\r\nx");
    assert_starts(receive(&c), "HTTP/1.1 503 ");
    leave(&c);
    c = send_all_but_one(f, 1, 4096);
    expect_created(&c);
    for (unsigned i = 0; i < 16; i++)
        expect_created(&small[i]);
}

static void a_body_that_stalls_loses_its_place_when_another_needs_it(void **state)
{
    static const size_t lens[] = {200000, 65536};
    struct fixture *f = *state;

    f->options.rate_min = 1000;
    allow_connections(f, 20);
    for (unsigned is_small = 0; is_small < 2; is_small++) {
        unsigned count = is_small ? 16 : 1;
        struct client stalled[16], c;

        for (unsigned i = 0; i < count; i++)
            stalled[i] = send_all_but_one(f, 1, lens[is_small]);
        fixture_pass(f, 1000);
        c = send_all_but_one(f, 1, lens[is_small]);
        expect_created(&c);
        expect_displaced(&stalled[0]);
        for (unsigned i = 1; i < count; i++)
            expect_created(&stalled[i]);
        assert_int_equal(body_bytes(f), 0);
    }
}

static void a_body_that_trickles_stalls_and_one_that_flows_does_not(void **state)
{
    struct fixture *f = *state;
    struct client flowing, trickling, c;
    struct bytes body = large(30000);

    f->options.rate_min = 1000;
    allow_connections(f, 3);
    flowing = connect_client(f);
    trickling = connect_client(f);
    say(&trickling, PUSH "Content-Length: 100000\r\n\r\n");
    say(&flowing, PUSH "Content-Length: 200000\r\n\r\n");
    say_bytes(&trickling, body);
    say_bytes(&trickling, body);
    AWAIT(f, body_bytes(f) == 100000);
    for (unsigned i = 0; i < 6; i++) {
        fixture_pass(f, 400);
        say(&trickling, "xxxx");
        say_bytes(&flowing, body);
        expect_silence(&flowing);
    }
    c = send_all_but_one(f, 1, 70000);
    expect_displaced(&trickling);
    expect_created(&c);
    say_bytes(&flowing, bytes_of(body.at, 19999));
    expect_created(&flowing);
    free((char *)body.at);
}

static void an_address_keeps_others_from_no_more_than_half(void **state)
{
    struct fixture *f = *state;
    struct client first, second, other;

    allow_connections(f, 20);
    first = send_all_but_one(f, 1, 100000);
    second = send_all_but_one(f, 1, 200000);
    other = send_all_but_one(f, 2, 100000);
    expect_displaced(&first);
    first = connect_client(f);
    say(&first, PUSH "Content-Length: 80000\r\n\r\nx"); /* it has its half */
    assert_starts(receive(&first), "HTTP/1.1 503 ");
    leave(&first);
    expect_created(&second);
    expect_created(&other);
    assert_int_equal(body_bytes(f), 0);
}

static void gives_memory_back_when_a_client_leaves_within_a_body(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, body_bytes(f) > 0);
    leave(&c);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    assert_int_equal(body_bytes(f), 0);
}

static void a_slow_body_ends_with_its_connection(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    f->options.request_ms = 500;
    http_reload(http_port(f->http), &f->options);
    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, body_bytes(f) > 0);
    fixture_pass(f, 400);
    say(&c, "!");
    expect_silence(&c);
    fixture_pass(f, 200);
    assert_starts(receive(&c), "HTTP/1.1 408 Request Timeout\r\n");
    assert_int_equal(body_bytes(f), 0);
    leave(&c);
}

/* And one that is thrown away as fast as it comes. */
static void a_body_is_read_to_its_end_and_little_behind_it(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    f->options.request_ms = 500;
    http_reload(http_port(f->http), &f->options);
    say(&c, PUSH "Content-Length: 9000\r\n\r\nhello");
    AWAIT(f, has_come(f, 5));
    assert_int_equal(last_client(f)->base.connection.read_max_bytes, 8995 + HEAD_MAX_BYTES);
    fixture_pass(f, 600);
    assert_starts(receive(&c), "HTTP/1.1 408 Request Timeout\r\n");
    assert_int_equal(last_client(f)->base.connection.read_max_bytes, CONNECTION_READ_BYTES);
    leave(&c);
}

static void refuses_a_body_that_comes_when_it_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, body_bytes(f) > 0);
    fixture_stop(f);
    say(&c, " world");
    assert_has(receive_all(&c), "\"shutting_down\"");
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_a_handler_the_whole_body),
        TEST(takes_a_body_as_large_as_the_limit_and_gives_its_memory_back),
        TEST(refuses_a_body_above_the_limit_of_its_path_before_it_comes),
        TEST(all_bodies_together_have_a_limit_that_announcing_does_not_use_up),
        TEST(one_body_may_use_up_the_limit_of_all),
        TEST(several_growing_bodies_stay_within_the_limit_of_all),
        TEST(small_bodies_never_wait_for_large_ones),
        TEST(the_smallest_bodies_never_wait_for_small_ones),
        TEST(a_body_that_stalls_loses_its_place_when_another_needs_it),
        TEST(a_body_that_trickles_stalls_and_one_that_flows_does_not),
        TEST(an_address_keeps_others_from_no_more_than_half),
        TEST(gives_memory_back_when_a_client_leaves_within_a_body),
        TEST(a_slow_body_ends_with_its_connection),
        TEST(a_body_is_read_to_its_end_and_little_behind_it),
        TEST(refuses_a_body_that_comes_when_it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
