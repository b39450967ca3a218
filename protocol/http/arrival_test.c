/* Bodies: how they come to a handler, and how much of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/http/routes.h"
#include "protocol/http/server.h"
#include "protocol/http/server_fixture.h"

/* In place of api_push.c: answers with what it has got. */
void api_push(struct exchange *x)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%.*s %zu ", BYTES_ARG(x->topic), x->body.len);
    buf_add_bytes(&text, x->body);
    exchange_reply(x, 201, "text/plain", buf_bytes(&text));
    buf_fini(&text);
}

#define PUSH "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n"

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
    AWAIT(f, f->http->body_bytes >= body.len - 1);
    say(&c, "y");
    assert_has(receive(&c), "\r\n\r\nt 200000 xxx");
    assert_int_equal(f->http->body_bytes, 0);
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
        "POST /v1/topics/t/pop HTTP/1.1\r\nHost: h\r\nContent-Length: 4097\r\n\r\n",
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
    AWAIT(f, f->http->body_bytes >= body.len - 1);
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
    assert_int_equal(f->http->body_bytes, 0);
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
    http_reload(f->http, &f->options);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct client c = connect_client(f);

        say(&c, heads[i]);
        for (size_t sent = 0; sent < body.len; sent += 5000) {
            say_bytes(&c, bytes_of(body.at + sent, 5000));
            fixture_turn(f);
            assert_in_range(f->http->body_bytes, 0, f->options.bodies_max_bytes);
        }
        say(&c, i ? "\r\n0\r\n\r\n" : "");
        assert_has(receive(&c), "\r\n\r\nt 200000 xxx");
        assert_int_equal(f->http->body_bytes, 0);
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
            assert_in_range(f->http->body_bytes, 0, f->options.bodies_max_bytes);
        }
    AWAIT(f, f->http->body_bytes == 0);
    assert_in_range(http_stats(f->http)->errors[HTTP_ERROR_BODIES], 1, 2);
    for (unsigned i = 0; i < 3; i++)
        leave(&clients[i]);
    free((char *)body.at);
}

static void gives_memory_back_when_a_client_leaves_within_a_body(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, f->http->body_bytes > 0);
    leave(&c);
    AWAIT(f, http_stats(f->http)->connections == 0);
    assert_int_equal(f->http->body_bytes, 0);
}

static void a_slow_body_ends_with_its_connection(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    f->options.request_ms = 500;
    http_reload(f->http, &f->options);
    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, f->http->body_bytes > 0);
    fixture_pass(f, 400);
    say(&c, "!");
    expect_silence(&c);
    fixture_pass(f, 200);
    assert_starts(receive(&c), "HTTP/1.1 408 Request Timeout\r\n");
    assert_int_equal(f->http->body_bytes, 0);
    leave(&c);
}

static void refuses_a_body_that_comes_when_it_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, PUSH "Content-Length: 11\r\n\r\nhello");
    AWAIT(f, f->http->body_bytes > 0);
    fixture_stop(f);
    say(&c, " world");
    assert_has(receive_all(&c), "\"shutting_down\"");
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_a_handler_the_whole_body),
        TEST(takes_a_body_as_large_as_the_limit_and_gives_its_memory_back),
        TEST(refuses_a_body_above_the_limit_of_its_path_before_it_comes),
        TEST(all_bodies_together_have_a_limit_that_announcing_does_not_use_up),
        TEST(one_body_may_use_up_the_limit_of_all),
        TEST(several_growing_bodies_stay_within_the_limit_of_all),
        TEST(gives_memory_back_when_a_client_leaves_within_a_body),
        TEST(a_slow_body_ends_with_its_connection),
        TEST(refuses_a_body_that_comes_when_it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
