/* Who is not answered: web pages of others, and who calls the node by a name that is not its.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "protocol/http/tests/server_fixture.h"

static void take_names(struct fixture *f, const char *hosts)
{
    f->options.hosts = hosts;
    http_reload(http_port(f->http), &f->options);
}

static const char *push_with(struct fixture *f, const char *headers)
{
    char request[400];

    snprintf(request, sizeof(request),
             "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: evil.example:8000\r\n"
             "Content-Length: 12\r\n%s" CLOSE "{\"body\":\"b\"}",
             headers);
    return ask(f, request);
}

static void a_page_of_somebody_else_changes_nothing(void **state)
{
    static const char *const headers[] = {
        "Origin: http://elsewhere.example\r\n",
        "Origin: http://evil.example:8000\r\n", /* its name leads here for a moment */
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: http://evil.example:8000\r\n",
    };
    struct fixture *f = *state;

    take_names(f, "*");
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        const char *reply = push_with(f, headers[i]);

        assert_starts(reply, "HTTP/1.1 403 Forbidden\r\n");
        assert_has(reply, "\"forbidden_origin\"");
        assert_int_equal(http_port(f->http)->stats.refused, i + 1);
    }
    assert_starts(
        ask(f, "DELETE /v1/topics/t/jobs/1 HTTP/1.1\r\nHost: h\r\nOrigin: null\r\n" CLOSE),
        "HTTP/1.1 403 ");
    assert_has(ask(f, "GET /v1/topics/t HTTP/1.1\r\nHost: h\r\n" CLOSE), "\"ready\":0,");
}

static void everybody_else_does(void **state)
{
    take_names(*state, "*");
    assert_starts(push_with(*state, ""), "HTTP/1.1 201 ");
    assert_starts(push_with(*state, "Sec-Fetch-Site: none\r\n"), "HTTP/1.1 201 ");
    assert_starts(push_with(*state, "Sec-Fetch-Site: same-origin\r\nOrigin: https://ours\r\n"),
                  "HTTP/1.1 201 ");
}

static void a_link_is_followed_from_anywhere(void **state)
{
    assert_starts(ask(*state, "GET /v1/status HTTP/1.1\r\nHost: h\r\n"
                              "Sec-Fetch-Site: cross-site\r\n" CLOSE),
                  "HTTP/1.1 200 ");
}

/* Without a list, too. */
static void a_name_that_a_page_may_have_is_refused(void **state)
{
    static const char *const names[] = {"127.0.0.1:8000", "[::1]:8000",   "localhost",
                                        "dueq",           "d.q.svc:8000", "node1.example.com"};
    struct fixture *f = *state;
    char request[200];

    f->options.own[1] = "node1.example.com";
    take_names(f, "");
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n" CLOSE),
                  getenv("DUEQ_TEST_TLS") ? "HTTP/1.1 200 " : "HTTP/1.1 421 ");
    assert_starts(ask(f, "GET /health/live HTTP/1.1\r\nHost: evil.example\r\n" CLOSE),
                  "HTTP/1.1 200 ");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(request, sizeof(request), "GET /v1/status HTTP/1.1\r\nHost: %s\r\n" CLOSE,
                 names[i]);
        assert_starts(ask(f, request), "HTTP/1.1 200 ");
    }
    take_names(f, "*");
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n" CLOSE),
                  "HTTP/1.1 200 ");
}

static void a_name_that_is_not_listed_is_refused_whatever_is_asked(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    take_names(f, "dueq,dueq.example.com");
    reply = push_with(f, "");
    assert_starts(reply, "HTTP/1.1 421 Misdirected Request\r\n");
    assert_has(reply, "\"wrong_host\"");
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n" CLOSE),
                  "HTTP/1.1 421 ");
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: dueq:80\r\n" CLOSE),
                  "HTTP/1.1 200 ");
    assert_starts(ask(f, "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n" CLOSE),
                  "HTTP/1.1 200 ");
    assert_starts(ask(f, "GET /health/live HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_page_of_somebody_else_changes_nothing),
        TEST(everybody_else_does),
        TEST(a_link_is_followed_from_anywhere),
        TEST(a_name_that_a_page_may_have_is_refused),
        TEST(a_name_that_is_not_listed_is_refused_whatever_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
