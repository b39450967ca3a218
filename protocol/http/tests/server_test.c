/* What is answered to what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/http/tests/server_fixture.h"

static void says_that_it_lives_and_is_ready_and_leads(void **state)
{
    assert_has(ask(*state, "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE),
               "\r\n\r\n{\"status\":\"live\"}");
    assert_has(ask(*state, "GET /health/ready HTTP/1.1\r\nHost: h\r\n" CLOSE),
               "{\"status\":\"ready\",\"store\":{\"weak\":[]}}");
    assert_has(ask(*state, "GET /health/leader HTTP/1.1\r\nHost: h\r\n" CLOSE),
               "{\"status\":\"leader\"}");
}

static void says_why_it_is_not_ready_and_still_lives(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    f->why_not_ready = "Redis says \"LOADING\"";
    reply = ask(f, "GET /health/ready HTTP/1.1\r\nHost: h\r\n" CLOSE);
    assert_starts(reply, "HTTP/1.1 503 Service Unavailable\r\n");
    assert_has(reply, "Retry-After: 1\r\n");
    assert_has(reply, "\r\n\r\n{\"error\":{\"code\":\"not_ready\","
                      "\"message\":\"Redis says \\\"LOADING\\\"\"}}");
    assert_starts(ask(f, "GET /health/leader HTTP/1.1\r\nHost: h\r\n" CLOSE), "HTTP/1.1 503 ");
    assert_starts(ask(f, "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE), "HTTP/1.1 200 ");
}

static void shows_metrics_with_its_own_connections(void **state)
{
    const char *reply = ask(*state, "GET /metrics HTTP/1.1\r\nHost: h\r\n" CLOSE);

    assert_starts(reply, "HTTP/1.1 200 OK\r\n");
    assert_has(reply, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    assert_has(reply, "\ndueq_store_round_trips_total 42\n");
    assert_has(reply, "\ndueq_connections{protocol=\"http\"} 1\n");
    assert_has(reply, "\ndueq_requests_total{protocol=\"http\"} 1\n");
}

static void refuses_unknown_paths_and_other_methods(void **state)
{
    const char *reply = ask(*state, "GET /healthy HTTP/1.1\r\nHost: h\r\n" CLOSE);

    assert_starts(reply, "HTTP/1.1 404 Not Found\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"no_such_path\",");
    reply = ask(*state, "PATCH /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE);
    assert_starts(reply, "HTTP/1.1 405 ");
    assert_has(reply, "Allow: GET, HEAD\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"method_not_allowed\",");
}

static void leads_to_the_description_of_the_api(void **state)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: h\r\n" CLOSE,
        "GET /v1 HTTP/1.1\r\nHost: h\r\n" CLOSE,
        "GET /v1/ HTTP/1.1\r\nHost: h\r\n" CLOSE,
        "GET http://h?/v1/topics HTTP/1.1\r\nHost: h\r\n" CLOSE,
    };

    for (size_t i = 0; i < 3; i++) {
        const char *reply = ask(*state, requests[i]);

        assert_starts(reply, "HTTP/1.1 302 Found\r\n");
        assert_has(reply, "\r\nLocation: /v1/openapi.yaml\r\n");
        assert_has(reply, "\r\n\r\n{\"openapi\":\"/v1/openapi.yaml\"}");
    }
    assert_has(ask(*state, requests[3]), "query parameter /v1/topics: ");
}

/* It is not cut off: in front of it may be a name that somebody has left empty. */
static void says_that_a_slash_at_the_end_is_too_much(void **state)
{
    static const struct {
        const char *path;
        bool is_said;
    } cases[] = {
        {"/health/live/", true},
        {"/metrics/", true},
        {"/v1/topics/", true},
        {"/v1/topics/t/jobs/", true},
        {"/health/live//", false},
        {"/healthy/", false},
        {"//", true},
        {"/health", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char request[100];
        const char *reply;

        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n" CLOSE,
                 cases[i].path);
        reply = ask(*state, request);
        assert_starts(reply, "HTTP/1.1 404 Not Found\r\n");
        assert_has(reply, "{\"error\":{\"code\":\"no_such_path\",");
        assert_int_equal(strstr(reply, "without the '/' at its end there is") != NULL,
                         cases[i].is_said);
    }
}

static void ignores_the_query(void **state)
{
    assert_starts(ask(*state, "GET /health/live?from=lb HTTP/1.1\r\nHost: h\r\n" CLOSE),
                  "HTTP/1.1 200 ");
}

static void answers_head_without_a_body(void **state)
{
    const char *reply = ask(*state, "HEAD /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "Content-Length: 17\r\n");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
    reply = ask(*state, "HEAD /nothing HTTP/1.1\r\nHost: h\r\n" CLOSE);
    assert_starts(reply, "HTTP/1.1 404 ");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
}

static void keeps_the_clients_request_id(void **state)
{
    assert_has(ask(*state,
                   "GET /health/live HTTP/1.1\r\nHost: h\r\nX-Request-Id: order-7.a\r\n" CLOSE),
               "X-Request-Id: order-7.a\r\n");
}

static void gives_a_request_id_of_its_own_for_none_and_for_a_strange_one(void **state)
{
    static const char *const requests[] = {
        "GET /health/live HTTP/1.1\r\nHost: h\r\n" CLOSE,
        "GET /nothing HTTP/1.1\r\nHost: h\r\nX-Request-Id: a b\r\n" CLOSE,
        "no HTTP at all\r\n\r\n",
    };
    char ending[] = "-1\r\n";

    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        const char *id = strstr(ask(*state, requests[i]), "X-Request-Id: ");

        ending[1] = (char)('1' + i);
        assert_non_null(id);
        assert_memory_equal(id + strlen("X-Request-Id: ") + 16, ending, strlen(ending));
    }
}

static void serves_many_requests_on_one_connection(void **state)
{
    struct client c = connect_client(*state);

    say(&c, GET_LIVE);
    assert_has(receive(&c), "{\"status\":\"live\"}");
    say(&c, "\r\nGET /nothing HTTP/1.1\r\nHost: h\r\n\r\nGET /health/ready HT");
    assert_starts(receive(&c), "HTTP/1.1 404 ");
    expect_silence(&c);
    say(&c, "TP/1.1\r\nHost: h\r\n\r\n");
    assert_has(receive(&c), "{\"status\":\"ready\",\"store\":{\"weak\":[]}}");
    leave(&c);
}

static void ends_after_a_request_of_http_1_0_that_does_not_ask_for_more(void **state)
{
    struct client c = connect_client(*state);
    const char *reply;

    say(&c, "GET /health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_has(receive(&c), "Connection: keep-alive\r\n");
    say(&c, "GET /health/live HTTP/1.0\r\n\r\n");
    reply = receive_all(&c);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "Connection: close\r\n");
    leave(&c);
}

static void throws_small_bodies_away_where_none_is_wanted(void **state)
{
    struct client c = connect_client(*state);

    say(&c, "GET /health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde");
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    say(&c, "GET /health/ready HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
            "chunked\r\n\r\n3\r\nabc\r\n");
    expect_silence(&c);
    say(&c, "0\r\n\r\n");
    assert_has(receive(&c), "{\"status\":\"ready\",\"store\":{\"weak\":[]}}");
    say(&c, "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    expect_silence(&c);
    say(&c, "cde");
    assert_starts(receive(&c), "HTTP/1.1 404 ");
    say(&c, GET_LIVE);
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    leave(&c);
}

static void asks_for_the_body_of_a_client_that_waits_to_be_asked(void **state)
{
    struct client c = connect_client(*state);

    say(&c, "GET /health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: "
            "100-continue\r\n\r\n");
    assert_string_equal(receive(&c), "HTTP/1.1 100 Continue\r\n\r\n");
    say(&c, "ab");
    assert_starts(receive(&c), "HTTP/1.1 200 ");
    say(&c, "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: "
            "100-continue\r\n\r\n");
    assert_starts(receive(&c), "HTTP/1.1 404 "); /* and the body need not come */
    leave(&c);
}

static void refuses_what_is_malformed_with_a_reason_and_ends(void **state)
{
    static const struct {
        const char *request;
        const char *code;
        const char *word;
    } cases[] = {
        {"GET /\r\n\r\n", "400 Bad Request", "bad_request"},
        {"GET / HTTP/1.1\n\n", "400 Bad Request", "bad_request"},
        {"GET / HTTP/1.1\r\nHost: h\r\nName : x\r\n\r\n", "400 Bad Request", "bad_request"},
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", "400 Bad Request",
         "bad_request"},
        {"GET / HTTP/2.0\r\n\r\n", "505 HTTP Version Not Supported", "version_not_supported"},
        {"GET / HTTP/1.1\r\nHost: h\r\nExpect: a miracle\r\n\r\n", "417 Expectation Failed",
         "expectation_failed"},
        {"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "501 Not Implemented",
         "not_implemented"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *reply = ask(*state, cases[i].request);

        assert_starts(reply + strlen("HTTP/1.1 "), cases[i].code);
        assert_has(reply, "Connection: close\r\n");
        assert_has(reply, "X-Request-Id: ");
        assert_has(reply, "Content-Type: application/json\r\n");
        assert_has(strstr(reply, "{\"error\":{\"code\":"), cases[i].word);
    }
}

static void refuses_a_head_without_end(void **state)
{
    struct client c = connect_client(*state);

    say(&c, "GET /health/live HTTP/1.1\r\nHost: h\r\n");
    for (unsigned i = 0; i < 200; i++)
        say(&c, "X-Filler: 0123456789012345678901234567890123456789012345678901234567890123456"
                "78901234567890\r\n");
    assert_starts(receive_all(&c), "HTTP/1.1 431 Request Header Fields Too Large\r\n");
    leave(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_that_it_lives_and_is_ready_and_leads),
        TEST(says_why_it_is_not_ready_and_still_lives),
        TEST(shows_metrics_with_its_own_connections),
        TEST(refuses_unknown_paths_and_other_methods),
        TEST(leads_to_the_description_of_the_api),
        TEST(says_that_a_slash_at_the_end_is_too_much),
        TEST(ignores_the_query),
        TEST(answers_head_without_a_body),
        TEST(keeps_the_clients_request_id),
        TEST(gives_a_request_id_of_its_own_for_none_and_for_a_strange_one),
        TEST(serves_many_requests_on_one_connection),
        TEST(ends_after_a_request_of_http_1_0_that_does_not_ask_for_more),
        TEST(throws_small_bodies_away_where_none_is_wanted),
        TEST(asks_for_the_body_of_a_client_that_waits_to_be_asked),
        TEST(refuses_what_is_malformed_with_a_reason_and_ends),
        TEST(refuses_a_head_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
