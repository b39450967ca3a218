/* What a handler gets of a request, and what becomes of one that answers later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/op.h"
#include "protocol/api/handlers.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

/* In place of a pop: answers when its wait is cancelled, or when the test says so. */
static struct exchange *waiting;
static unsigned cancels;
static bool is_stubborn;

static void answer(void)
{
    struct exchange *x = waiting;

    waiting = NULL;
    exchange_reply_body(x, 200, BYTES("{}"));
}

static void on_cancel_wait(struct exchange *x)
{
    assert_ptr_equal(x, waiting);
    cancels++;
    if (!is_stubborn)
        answer();
}

static void own_api_pop(struct exchange *x)
{
    int64_t count;

    if (!exchange_query_int(x, "count", -1, 64, 7, &count))
        return;
    if (count == 64) {
        assert_null(waiting);
        waiting = x;
        cancels = 0;
        x->on_cancel_wait = on_cancel_wait;
    } else {
        exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, "%.*s %d", BYTES_ARG(x->topic),
                                  (int)count);
    }
}

/* In the places of the API's. */
static void own_api_get(struct exchange *x)
{
    exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, "[%.*s] [%.*s]", BYTES_ARG(x->topic),
                              BYTES_ARG(x->id));
}

static void own_api_cancel(struct exchange *x)
{
    exchange_reply_nothing(x);
}

static void own_api_lease(struct exchange *x)
{
    if (x->route->what == OP_RELEASE)
        exchange_reply_status_error(x, STATUS_UNKNOWN);
    else if (x->route->what == OP_TOUCH)
        exchange_reply_status_error(x, STATUS_TOO_MANY);
    else
        exchange_reply_nothing(x);
}

static int up(void **state)
{
    static const struct stand_in stand_ins[] = {
        {api_pop, own_api_pop},
        {api_get, own_api_get},
        {api_cancel, own_api_cancel},
        {api_lease, own_api_lease},
    };

    return fixture_up_with(state, stand_ins, sizeof(stand_ins) / sizeof(*stand_ins));
}

#define POP       "POST /v1/topics/t/pop"
#define V         " HTTP/1.1\r\nHost: h\r\n" CLOSE
#define POP_LATER POP "?count=64 HTTP/1.1\r\nHost: h\r\n\r\n"

/* ---- paths ---- */

static void finds_the_names_in_a_path(void **state)
{
    assert_has(ask(*state, "GET /v1/topics/a%2Fb/jobs/%25+%3f" V), "\"[a/b] [%+?]\"");
    assert_has(ask(*state, "GET /v1/topics/jobs/jobs/jobs" V), "\"[jobs] [jobs]\"");
    assert_has(ask(*state, "POST /v1/topics/a,b%2Cc/pop" V), "\"a,b,c 7\"");
}

static void finds_nothing_where_a_name_is_missing_or_too_much(void **state)
{
    static const char *const paths[] = {"/v1/topics/",        "/v1/topics//jobs",
                                        "/v1/topics/a/jobs/", "/v1/topics/a/jobs/b/",
                                        "/v1/topics/a/b",     "/v1/topics/a/jobs/b/ack/c",
                                        "/v1/topics%2Fa"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        char request[100];

        snprintf(request, sizeof(request), "GET %s" V, paths[i]);
        assert_has(ask(*state, request), "\"no_such_path\"");
    }
}

static void refuses_a_path_with_a_broken_escape(void **state)
{
    assert_has(ask(*state, "GET /v1/topics/a/jobs/%2" V), "\"bad_request\"");
    assert_has(ask(*state, "GET /v1/topics/%zz/jobs/b" V), "hexadecimal");
}

static void says_which_methods_a_path_answers_to(void **state)
{
    assert_has(ask(*state, "PUT /v1/topics/a/jobs/b" V), "\r\nAllow: GET, HEAD, DELETE\r\n");
    assert_has(ask(*state, "GET /v1/topics/a/jobs/b/ack" V), "\r\nAllow: POST\r\n");
    assert_has(ask(*state, "get /v1/topics/a/jobs/b" V), "\r\nAllow: GET, HEAD, DELETE\r\n");
}

/* ---- queries ---- */

static void reads_whole_numbers_within_their_range(void **state)
{
    assert_has(ask(*state, POP "?count=12" V), "\"t 12\"");
    assert_has(ask(*state, POP "?count=%31%32&" V), "\"t 12\"");
    assert_has(ask(*state, POP "?count=-1" V), "\"t -1\"");
    assert_has(ask(*state, POP "?count=000" V), "\"t 0\"");
}

static void refuses_what_is_no_number_or_out_of_range_and_names_it(void **state)
{
    static const char *const wrong[] = {"", "-", "x", "1.0", "1e1", "+1", "%201", "0x1"};
    static const char *const far[] = {"65", "-2", "99999999999999999999",
                                      "-99999999999999999999"};
    char request[100];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(request, sizeof(request), POP "?count=%s" V, wrong[i]);
        assert_has(ask(*state, request),
                   "\"bad_request\",\"message\":\"query parameter count: ");
    }
    for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
        snprintf(request, sizeof(request), POP "?count=%s" V, far[i]);
        assert_has(ask(*state, request),
                   "\"out_of_range\",\"message\":\"query parameter count: "
                   "from -1 to 64\"");
    }
}

static void refuses_parameters_that_are_unknown_or_given_twice_and_names_them(void **state)
{
    assert_has(
        ask(*state, POP "?cuont=1" V),
        "\"query parameter cuont: this path does not know such a parameter; did you mean "
        "count?\"");
    assert_has(ask(*state, POP "?wait=1" V), "; did you mean wait_ms?\"");
    assert_has(ask(*state, POP "?x=1" V), "this path does not know such a parameter\"");
    assert_has(ask(*state, POP "?count=1&count=1" V),
               "\"query parameter count: it is given tw");
    assert_has(ask(*state, POP "?count=1&c%6Funt=1" V),
               "\"query parameter count: it is given tw");
    assert_has(ask(*state, POP "?%ff=1" V), "\"query parameter \xef\xbf\xbd: ");
    assert_has(
        ask(*state, POP "?a23456789b123456789c123456789d123456789e123456789f123456789gh=1" V),
        "\"query parameter a23456789b123456789c123456789d123456789e123456789f123456789g: "
        "this path does not know such a parameter");
    assert_has(ask(*state, POP "?a%2=1" V), "\"query parameter a%2: ");
    assert_has(ask(*state, "GET /v1/topics/a/jobs/b?x" V), "\"query parameter x: ");
}

static void cuts_a_long_message(void **state)
{
    struct buf request = BUF_INIT;

    buf_add_text(&request, POP "?");
    for (unsigned i = 0; i < 1000; i++)
        buf_add_text(&request, "%C3%A4");
    buf_add_text(&request, V);
    assert_starts(ask(*state, buf_text(&request)), "HTTP/1.1 400 ");
    buf_fini(&request);
}

/* ---- replies ---- */

static void a_reply_without_content_does_not_say_how_long_it_is(void **state)
{
    struct client c = connect_client(*state);
    const char *reply;

    say(&c, "DELETE /v1/topics/a/jobs/b HTTP/1.1\r\nHost: h\r\n\r\n");
    reply = receive(&c);
    assert_starts(reply, "HTTP/1.1 204 No Content\r\n");
    assert_null(strstr(reply, "Content-"));
    say(&c, GET_LIVE);
    assert_has(receive(&c), "{\"status\":\"live\"}");
    leave(&c);
}

static void says_how_an_operation_ended(void **state)
{
    const char *reply = ask(*state, "POST /v1/topics/a/jobs/b/release" V);

    assert_starts(reply, "HTTP/1.1 504 Gateway Timeout\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"unknown\",");
    assert_null(strstr(reply, "Retry-After"));
    reply = ask(*state, "POST /v1/topics/a/jobs/b/touch" V);
    assert_starts(reply, "HTTP/1.1 503 Service Unavailable\r\n");
    assert_has(reply, "\r\nRetry-After: 1\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"too_many\",");
}

static void counts_errors_by_what_was_wrong(void **state)
{
    struct fixture *f = *state;

    ask(f, "GET /nothing" V);
    ask(f, "POST /v1/topics/a/jobs/b/release" V);
    ask(f, "POST /v1/topics/a/jobs/b/release" V);
    assert_int_equal(f->api.errors[HTTP_ERROR_NO_PATH], 1);
    assert_int_equal(f->api.errors[HTTP_ERROR_UNKNOWN], 2);
    assert_int_equal(http_port(f->http)->stats.refused, 1);
    ask(f, POP "?colour=red" V);
    ask(f, "GET /v1/topics/%zz" V);
    assert_int_equal(http_port(f->http)->stats.refused, 3);
}

/* ---- waiting ---- */

static void cancels_a_handler_whose_client_has_left(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP_LATER);
    AWAIT(f, waiting);
    reset(&c);
    AWAIT(f, !waiting);
    assert_int_equal(cancels, 1);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
}

static void cancels_a_handler_whose_client_has_left_more_behind(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP_LATER GET_LIVE GET_LIVE);
    AWAIT(f, waiting);
    leave(&c);
    AWAIT(f, cancels);
    fixture_pass(f, 100);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
    assert_null(waiting);
}

static void cancels_a_handler_whose_client_ended_its_side_and_answers_it(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP_LATER);
    end_sending(&c);
    AWAIT(f, waiting || cancels);
    fixture_pass(f, 100);
    assert_has(receive_all(&c), "\r\n\r\n{}");
    assert_int_equal(cancels, 1);
    leave(&c);
}

static void cancels_all_handlers_when_it_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, POP_LATER);
    AWAIT(f, waiting);
    fixture_stop(f);
    assert_null(waiting);
    assert_has(receive_all(&c), "\r\nConnection: close\r\n");
    assert_has(buf_text(&f->reply), "\r\n\r\n{}");
    leave(&c);
}

static void cancels_once_and_waits_for_the_answer(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    is_stubborn = true;
    say(&c, POP_LATER);
    end_sending(&c);
    AWAIT(f, waiting);
    fixture_pass(f, 100);
    reset(&c);
    fixture_pass(f, 1000);
    fixture_stop(f);
    fixture_pass(f, 3000);
    assert_int_equal(cancels, 1);
    assert_false(f->is_stopped);
    answer();
    AWAIT(f, f->is_stopped);
    is_stubborn = false;
}

static void tells_who_asks(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct bytes name;

    say(&c, POP_LATER);
    AWAIT(f, waiting);
    name = exchange_client(waiting);
    assert_memory_equal(name.at, "http 127.0.0.1:", 15);
    assert_ptr_equal(exchange_client(waiting).at, name.at);
    answer();
    assert_has(receive(&c), "{}");
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_the_names_in_a_path),
        TEST(finds_nothing_where_a_name_is_missing_or_too_much),
        TEST(refuses_a_path_with_a_broken_escape),
        TEST(says_which_methods_a_path_answers_to),
        TEST(reads_whole_numbers_within_their_range),
        TEST(refuses_what_is_no_number_or_out_of_range_and_names_it),
        TEST(refuses_parameters_that_are_unknown_or_given_twice_and_names_them),
        TEST(cuts_a_long_message),
        TEST(a_reply_without_content_does_not_say_how_long_it_is),
        TEST(says_how_an_operation_ended),
        TEST(counts_errors_by_what_was_wrong),
        TEST(cancels_a_handler_whose_client_has_left),
        TEST(cancels_a_handler_whose_client_has_left_more_behind),
        TEST(cancels_a_handler_whose_client_ended_its_side_and_answers_it),
        TEST(cancels_all_handlers_when_it_stops),
        TEST(cancels_once_and_waits_for_the_answer),
        TEST(tells_who_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
