/* What an app may want beside the native API: the dialects of HTTP are made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/http/exchange.h"
#include "protocol/http/tests/server_fixture.h"

static void tell(struct exchange *x)
{
    struct buf text = BUF_INIT;
    char room[EXCHANGE_TOPIC_MAX];

    buf_printf(&text, "%.*s", BYTES_ARG(x->head.method));
    if (x->namespace.len)
        buf_printf(&text, " topic=%.*s", BYTES_ARG(exchange_topic(x, x->topic, room)));
    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && x->route->query[i]; i++)
        if (x->query[i].at)
            buf_printf(&text, " %s=%.*s", x->route->query[i], BYTES_ARG(x->query[i]));
    buf_printf(&text, " %.*s", BYTES_ARG(head_field(&x->head, "X-Word")));
    exchange_reply_buf(x, 200, &text);
}

static const struct route routes[] = {
    {NULL, BYTES("/any"), tell, .query = {"a", "b"}, .operation = "any",
     .roles = ACCESS_CONSUME},
    {"GET", BYTES("/api/{namespace}/{topics}"), tell, .operation = "in",
     .roles = ACCESS_CONSUME},
    {"GET", BYTES("/alive"), tell, .is_for_monitors = true, .roles = ACCESS_EVERYBODY},
};

/* "200" for a page that is not there, as some servers have it; and the route, where it is
 * known. */
static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    buf_printf(out, "%s: %.*s", x->route ? x->route->operation : "?", BYTES_ARG(message));
    return error == HTTP_ERROR_NO_PATH ? 200 : error == HTTP_ERROR_METHOD ? 404 : 418;
}

/* "X-Token: pool:token"; of the query nothing. */
static struct bytes token_of(const struct head *head, char room[HTTP_TOKEN_MAX])
{
    struct bytes token = head_field(head, "X-Token");

    if (token.at)
        (void)bytes_cut(&token, ':');
    return token;
}

static const struct http_app app = {
    .name = "http",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .content_type = "text/plain; charset=utf-8",
    .ignores_unknown_query = true,
    .reads_change = true,
    .joint = ':',
    .token_of = token_of,
};

static int set_up(void **state)
{
    return fixture_up_app(state, &app, NULL);
}

static const char *ask_with(struct fixture *f, const char *line, const char *headers)
{
    char request[600];

    snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: h\r\n%s" CLOSE, line, headers);
    return ask(f, request);
}

static void a_path_may_take_any_method(void **state)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "BREW"};
    char line[40];

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        const char *reply;

        snprintf(line, sizeof(line), "%s /any", methods[i]);
        reply = ask_with(*state, line, "");
        assert_starts(reply, "HTTP/1.1 200 ");
        assert_has(reply, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
        assert_has(strstr(reply, "\r\n\r\n"), methods[i]);
    }
}

static void a_query_may_have_anything_beside_what_is_known(void **state)
{
    assert_has(ask_with(*state, "GET /any?c=1&b=x%20y&%zz=1&c=%&b=z&a=", ""),
               "\r\n\r\nGET a= b=x y ");
    assert_has(ask_with(*state, "GET /any?a=%zz", ""), "any: query parameter a: a '%' is not");
}

static void errors_have_the_apps_own_codes_and_words(void **state)
{
    const char *reply = ask_with(*state, "GET /nothing", "");

    assert_starts(reply, "HTTP/1.1 200 OK\r\n");
    assert_has(reply, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
    assert_has(reply, "\r\n\r\n?: there is nothing under this path");
    assert_starts(ask_with(*state, "PUT /api/n/t", ""), "HTTP/1.1 404 ");
    assert_starts(ask_with(*state, "GET /any", "Broken\r\n"), "HTTP/1.1 418 \r\n");
}

static void a_topic_stands_behind_its_namespace(void **state)
{
    assert_has(ask_with(*state, "GET /api/n%2Fs/t", ""), "\r\n\r\nGET topic=n/s:t ");
}

static void headers_can_be_read_by_their_name(void **state)
{
    assert_has(ask_with(*state, "GET /any", "x-word: one \r\nX-Word: two\r\n"),
               "\r\n\r\nGET one");
}

static void no_page_of_another_site_asks_by_any_method(void **state)
{
    assert_has(ask_with(*state, "GET /any", "Origin: http://elsewhere.example\r\n"),
               "web page");
    assert_has(ask_with(*state, "GET /any", "Sec-Fetch-Site: cross-site\r\n"), "web page");
    assert_starts(ask_with(*state, "GET /any", "Sec-Fetch-Site: same-origin\r\n"),
                  "HTTP/1.1 200 ");
}

/* The reply to a HEAD has no room for what a GET has taken. */
static void where_reads_change_something_a_head_does_nothing(void **state)
{
    assert_has(ask_with(*state, "HEAD /any", ""), "\r\nAllow: GET, POST\r\n");
    assert_starts(ask_with(*state, "HEAD /any", ""), "HTTP/1.1 404 ");
    assert_starts(ask_with(*state, "HEAD /api/n/t", ""), "HTTP/1.1 404 ");
    assert_starts(ask_with(*state, "HEAD /alive", ""), "HTTP/1.1 200 ");
}

static void a_token_may_stand_elsewhere_and_is_for_topics_with_their_namespace(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT, why = BUF_INIT;
    struct access *known = access_new();

    add_identity(&text, "shop consume topics=n:*", "shop-token");
    assert_int_equal(access_take(known, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
    f->options.access = known;
    f->options.as = "";
    http_reload(http_port(f->http), &f->options);
    assert_starts(ask_with(f, "GET /api/n/t", "X-Token: p:shop-token\r\n"), "HTTP/1.1 200 ");
    assert_starts(ask_with(f, "GET /api/n/t,u", "Authorization: Bearer shop-token\r\n"),
                  "HTTP/1.1 200 ");
    assert_has(ask_with(f, "GET /api/n/t", "X-Token: p:other\r\n"), "this takes a valid token");
    assert_has(ask_with(f, "GET /api/n/t", ""), "this takes a valid token");
    assert_has(ask_with(f, "GET /api/m/n:t", "X-Token: p:shop-token\r\n"),
               "not for this topic");
    assert_has(ask_with(f, "GET /api/n%3Ax/t", "X-Token: p:shop-token\r\n"), "topic=n:x:t");
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    access_free(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_path_may_take_any_method, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(a_query_may_have_anything_beside_what_is_known, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(errors_have_the_apps_own_codes_and_words, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(a_topic_stands_behind_its_namespace, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(headers_can_be_read_by_their_name, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(no_page_of_another_site_asks_by_any_method, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(where_reads_change_something_a_head_does_nothing,
                                        set_up, fixture_down),
        cmocka_unit_test_setup_teardown(
            a_token_may_stand_elsewhere_and_is_for_topics_with_their_namespace, set_up,
            fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
