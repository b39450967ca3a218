/* Who may ask for what, once the node knows identities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/http/server.h"
#include "protocol/http/tests/server_fixture.h"

static struct access *known;

static int set_up(void **state)
{
    struct buf text = BUF_INIT, why = BUF_INIT;
    struct fixture *f;

    if (fixture_up(state))
        return -1;
    f = *state;
    add_identity(&text, "shop produce,consume topics=orders,mail/*", "shop-token");
    add_identity(&text, "eye inspect topics=orders,mail/*", "eye-token");
    add_identity(&text, "ops operate,inspect", "ops-token");
    add_identity(&text, "full all", "full-token");
    add_identity(&text, "past all until=2001-01-01T00:00:00Z", "past-token");
    buf_add_text(&text, "guest inspect\n");
    known = access_new();
    assert_int_equal(access_take(known, buf_bytes(&text), &why), STATUS_OK);
    f->options.access = known;
    f->options.as = "";
    http_reload(http_port(f->http), &f->options);
    buf_fini(&text);
    return 0;
}

static int tear_down(void **state)
{
    int result = fixture_down(state);

    access_free(known);
    return result;
}

static bool has_end(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

/* `method_and_path` with the token, "": none; and with the body that it takes. */
static const char *ask_as(struct fixture *f, const char *token, const char *method_and_path)
{
    bool is_push = *method_and_path == 'P' && has_end(method_and_path, "/jobs");
    const char *body = is_push                              ? "{\"body\":\"b\"}"
                       : has_end(method_and_path, "/pause") ? "{}"
                                                            : "";
    char request[600];

    snprintf(request, sizeof(request),
             "%s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n%s%s%s" CLOSE "%s",
             method_and_path, strlen(body), *token ? "Authorization: Bearer " : "", token,
             *token ? "\r\n" : "", body);
    return ask(f, request);
}

static void without_a_token_only_what_is_for_everybody(void **state)
{
    const char *reply = ask_as(*state, "", "GET /v1/topics");

    assert_starts(reply, "HTTP/1.1 401 Unauthorized\r\n");
    assert_has(reply, "\r\nWWW-Authenticate: Bearer realm=\"dueq\"\r\n");
    assert_has(reply, "{\"error\":{\"code\":\"unauthorized\"");
    assert_starts(ask_as(*state, "", "GET /metrics"), "HTTP/1.1 401 ");
    assert_starts(ask_as(*state, "", "GET /v1/access"), "HTTP/1.1 401 ");
    assert_starts(ask_as(*state, "", "GET /health/live"), "HTTP/1.1 200 ");
    assert_starts(ask_as(*state, "", "GET /v1/openapi.yaml"), "HTTP/1.1 200 ");
    assert_starts(ask_as(*state, "", "GET /v1/nothing"), "HTTP/1.1 404 ");
}

static void no_answer_tells_why_a_token_is_wrong(void **state)
{
    static const char *const headers[] = {
        "Authorization: Bearer unknown\r\n",
        "Authorization: Bearer past-token\r\n",
        "Authorization: Bearer shop-token2\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Basic shop-token\r\n",
        "Authorization: shop-token\r\n",
        "Authorization:\r\n",
        "",
    };
    char first[1000] = "", request[200];

    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        const char *reply, *body;

        snprintf(request, sizeof(request), "GET /v1/topics HTTP/1.1\r\nHost: h\r\n%s" CLOSE,
                 headers[i]);
        reply = ask(*state, request);
        assert_starts(reply, "HTTP/1.1 401 ");
        body = strstr(reply, "Connection:");
        if (i == 0)
            snprintf(first, sizeof(first), "%s", body);
        assert_string_equal(body, first);
    }
}

/* A web page that has its own name lead here has no token. */
static void a_token_is_good_whatever_the_name(void **state)
{
    static const struct {
        const char *token, *status;
    } cases[] = {{"", "HTTP/1.1 421 "},
                 {"Authorization: Bearer unknown\r\n", "HTTP/1.1 401 "},
                 {"Authorization: Bearer shop-token\r\n", "HTTP/1.1 404 "}};
    char request[200];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(request, sizeof(request),
                 "GET /v1/topics/orders/jobs/1 HTTP/1.1\r\nHost: a.example\r\n%s" CLOSE,
                 cases[i].token);
        assert_starts(ask(*state, request), cases[i].status);
    }
}

static void a_token_gives_its_roles_and_no_others(void **state)
{
    const char *reply;

    assert_starts(ask_as(*state, "shop-token", "POST /v1/topics/orders/jobs"), "HTTP/1.1 201 ");
    assert_starts(ask_as(*state, "shop-token", "POST /v1/topics/orders/pop"), "HTTP/1.1 200 ");
    reply = ask_as(*state, "shop-token", "POST /v1/topics/orders/purge");
    assert_starts(reply, "HTTP/1.1 403 Forbidden\r\n");
    assert_has(reply, "{\"code\":\"forbidden\",\"message\":\"this takes the role operate, shop "
                      "has produce,consume\"");
    assert_has(ask_as(*state, "eye-token", "DELETE /v1/topics/orders/jobs/1"),
               "this takes the role produce, eye ");
    assert_has(ask_as(*state, "shop-token", "GET /v1/status"), "the role inspect, ");
    assert_starts(ask_as(*state, "ops-token", "POST /v1/topics/orders/resume"),
                  "HTTP/1.1 200 ");
    assert_has(ask_as(*state, "ops-token", "POST /v1/cluster/pause"), "the role admin, ops ");
}

static void the_scheme_is_written_in_any_case(void **state)
{
    assert_starts(ask(*state, "GET /v1/status HTTP/1.1\r\nHost: h\r\n"
                              "AUTHORIZATION: bEARER   ops-token\r\n" CLOSE),
                  "HTTP/1.1 200 ");
}

static void two_tokens_in_a_request_are_a_mistake(void **state)
{
    assert_starts(ask(*state, "GET /v1/status HTTP/1.1\r\nHost: h\r\n"
                              "Authorization: Bearer ops-token\r\n"
                              "Authorization: Bearer ops-token\r\n" CLOSE),
                  "HTTP/1.1 400 ");
}

static void each_topic_of_a_path_must_be_its_own(void **state)
{
    static const struct {
        const char *request, *start;
    } cases[] = {
        {"POST /v1/topics/mail%2Feu/jobs", "HTTP/1.1 201 "},
        {"POST /v1/topics/mail/jobs", "HTTP/1.1 403 "},
        {"POST /v1/topics/%6frders/jobs", "HTTP/1.1 201 "}, /* the same name */
        {"POST /v1/topics/other/jobs", "HTTP/1.1 403 "},
        {"POST /v1/topics/orders,mail%2Feu/pop", "HTTP/1.1 200 "},
        {"POST /v1/topics/orders,other/pop", "HTTP/1.1 403 "},
        {"POST /v1/topics/other,orders/pop", "HTTP/1.1 403 "},
        {"POST /v1/topics/orders%2Cother/pop", "HTTP/1.1 403 "},
        {"POST /v1/topics/orders%/pop", "HTTP/1.1 400 "},
        {"POST /v1/topics/other%/pop", "HTTP/1.1 400 "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_starts(ask_as(*state, "shop-token", cases[i].request), cases[i].start);
    assert_has(ask_as(*state, "shop-token", "POST /v1/topics/other/jobs"),
               "\"message\":\"shop is not for this topic\"");
}

static void what_exists_shows_in_no_refusal(void **state)
{
    char there[1000];

    assert_starts(ask_as(*state, "shop-token", "POST /v1/topics/orders/jobs"), "HTTP/1.1 201 ");
    snprintf(there, sizeof(there), "%s",
             strstr(ask_as(*state, "shop-token", "GET /v1/topics/other/jobs/1"), "\r\n\r\n"));
    assert_has(there, "\"forbidden\"");
    assert_string_equal(
        strstr(ask_as(*state, "shop-token", "GET /v1/topics/never/jobs/2"), "\r\n\r\n"), there);
}

static void lists_leave_out_the_topics_of_others(void **state)
{
    const char *reply;

    assert_starts(ask_as(*state, "shop-token", "POST /v1/topics/orders/jobs"), "HTTP/1.1 201 ");
    assert_starts(ask_as(*state, "full-token", "POST /v1/topics/other/jobs"), "HTTP/1.1 201 ");
    assert_starts(ask_as(*state, "ops-token", "POST /v1/topics/other/pause"), "HTTP/1.1 200 ");
    assert_starts(ask_as(*state, "ops-token", "POST /v1/topics/orders/pause"), "HTTP/1.1 200 ");
    reply = ask_as(*state, "eye-token", "GET /v1/settings");
    assert_has(reply, "\"orders\"");
    assert_null(strstr(reply, "other"));
    assert_has(ask_as(*state, "ops-token", "GET /v1/settings"), "\"other\"");
    reply = ask_as(*state, "eye-token", "GET /v1/topics");
    assert_has(reply, "\"orders\"");
    assert_null(strstr(reply, "other"));
    assert_has(ask_as(*state, "ops-token", "GET /v1/topics"), "\"other\"");
}

static void only_producers_and_consumers_see_a_body(void **state)
{
    const char *reply;
    char id[32], path[100];

    reply = ask_as(*state, "shop-token", "POST /v1/topics/orders/jobs");
    assert_int_equal(sscanf(strstr(reply, "\"id\":\""), "\"id\":\"%31[0-9]", id), 1);
    snprintf(path, sizeof(path), "GET /v1/topics/orders/jobs/%s", id);
    assert_has(ask_as(*state, "shop-token", path), "\"body\":\"b\"");
    reply = ask_as(*state, "eye-token", path);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "\"body_bytes\":1,");
    assert_null(strstr(reply, "\"body\":"));
}

static void without_a_token_a_client_acts_as_the_ports_identity(void **state)
{
    struct fixture *f = *state;

    f->options.as = "guest";
    http_reload(http_port(f->http), &f->options);
    assert_has(ask_as(f, "", "GET /v1/access"),
               "{\"name\":\"guest\",\"roles\":[\"inspect\"],\"topics\":[\"*\"],"
               "\"until_ms\":null,\"known_by\":\"port\"}");
    assert_starts(ask_as(f, "", "POST /v1/topics/orders/jobs"), "HTTP/1.1 403 ");
    assert_starts(ask_as(f, "wrong", "GET /v1/access"), "HTTP/1.1 401 ");
    assert_starts(ask_as(f, "ops-token", "GET /v1/access"), "HTTP/1.1 200 ");
    assert_int_equal(http_port(f->http)->stats.tokenless, 2);
    f->options.as = "nobody";
    http_reload(http_port(f->http), &f->options);
    assert_starts(ask_as(f, "", "GET /v1/access"), "HTTP/1.1 401 ");
    assert_int_equal(http_port(f->http)->stats.tokenless, 2);
}

static void says_as_whom_a_request_acts(void **state)
{
    assert_has(ask_as(*state, "shop-token", "GET /v1/access"),
               "{\"name\":\"shop\",\"roles\":[\"produce\",\"consume\"],"
               "\"topics\":[\"orders\",\"mail/*\"],\"until_ms\":null,\"known_by\":\"token\"}");
}

static void too_many_without_a_valid_token_are_told_to_wait_and_others_are_not(void **state)
{
    const char *reply = "";

    for (unsigned i = 0; i <= ACCESS_ATTEMPTS; i++)
        reply = ask_as(*state, "wrong", "GET /v1/status");
    assert_starts(reply, "HTTP/1.1 429 Too Many Requests\r\n");
    assert_has(reply, "\r\nRetry-After: 1\r\n");
    assert_has(reply, "\"too_many_attempts\"");
    assert_starts(ask_as(*state, "", "GET /v1/status"), "HTTP/1.1 429 ");
    assert_starts(ask_as(*state, "ops-token", "GET /v1/status"), "HTTP/1.1 200 ");
}

/* 3,000 bytes of 4,000 are there; what is refused is thrown away as it comes. */
static void the_body_of_a_refused_push_takes_no_memory(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    char body[3001];

    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    say(&c, "POST /v1/topics/orders/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n\r\n");
    say(&c, body);
    AWAIT(f, !list_is_empty(&f->http->arriving));
    fixture_turn(f);
    assert_int_equal(f->http->body_bytes[false], 0);
    body[1000] = '\0';
    say(&c, body);
    assert_starts(receive(&c), "HTTP/1.1 401 ");
    leave(&c);
    c = connect_client(f);
    say(&c, "POST /v1/topics/orders/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n"
            "Expect: 100-continue\r\n\r\n");
    assert_starts(receive_all(&c), "HTTP/1.1 401 ");
    leave(&c);
}

/* A page looks at 256 topics of a bucket at most, when it has limit=1: here are four buckets.
 */
static void a_cursor_names_no_topic_of_others(void **state)
{
    struct client c = connect_client(*state);
    char request[200];
    const char *reply;

    for (unsigned i = 0; i < 1400; i++) {
        snprintf(request, sizeof(request),
                 "POST /v1/topics/hidden-%u/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n"
                 "Authorization: Bearer full-token\r\n\r\n{\"body\":\"\"}",
                 i);
        say(&c, request);
        assert_starts(receive(&c), "HTTP/1.1 201 ");
    }
    leave(&c);
    for (unsigned bucket = 0; bucket < 4; bucket++) { /* a client may make a cursor */
        snprintf(request, sizeof(request), "GET /v1/topics?limit=1&cursor=%u.", bucket);
        reply = ask_as(*state, "eye-token", request);
        assert_starts(reply, "HTTP/1.1 200 ");
        assert_null(strstr(reply, "68696464656e")); /* "hidden", in hexadecimal */
        assert_null(strstr(reply, "hidden"));
    }
}

static void head_takes_what_get_takes(void **state)
{
    assert_starts(ask_as(*state, "", "HEAD /v1/topics"), "HTTP/1.1 401 ");
    assert_starts(ask_as(*state, "shop-token", "HEAD /v1/topics"), "HTTP/1.1 403 ");
    assert_starts(ask_as(*state, "ops-token", "HEAD /v1/topics"), "HTTP/1.1 200 ");
}

/* A client over the limit is served metrics, and nothing else; with a token all the same. */
static void metrics_take_a_token_also_over_the_limit_of_connections(void **state)
{
    struct client c[3], over;

    for (unsigned i = 0; i < 3; i++)
        c[i] = connect_client(*state);
    over = dial(*state);
    say(&over, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_starts(receive_all(&over), "HTTP/1.1 401 ");
    leave(&over);
    for (unsigned i = 0; i < 3; i++)
        leave(&c[i]);
}

/* Its identity is gone from the node before the answer comes. */
static void an_identity_that_a_request_has_outlives_a_reload(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct buf why = BUF_INIT;

    say(&c, "GET /v1/deliveries?wait_ms=1000 HTTP/1.1\r\nHost: h\r\n"
            "Authorization: Bearer ops-token\r\n" CLOSE);
    AWAIT(f, queue_stats(f->queue)->following == 1);
    assert_int_equal(access_take(known, BYTES("other all\n"), &why), STATUS_OK);
    fixture_pass(f, 1100);
    assert_starts(receive_all(&c), "HTTP/1.1 200 ");
    leave(&c);
}

static void a_ports_identity_expires_like_any(void **state)
{
    struct fixture *f = *state;

    f->options.as = "past";
    http_reload(http_port(f->http), &f->options);
    assert_starts(ask_as(f, "", "GET /v1/access"), "HTTP/1.1 401 ");
}

static void without_identities_everybody_may_do_everything(void **state)
{
    struct buf why = BUF_INIT;

    access_turn_off(known);
    assert_starts(ask_as(*state, "", "POST /v1/topics/other/jobs"), "HTTP/1.1 201 ");
    assert_starts(ask_as(*state, "whatever", "GET /v1/status"), "HTTP/1.1 200 ");
    assert_has(ask_as(*state, "", "GET /v1/access"),
               "{\"name\":null,\"roles\":[\"produce\",\"consume\",\"inspect\",\"operate\","
               "\"admin\"],\"topics\":[\"*\"],\"until_ms\":null,\"known_by\":null}");
    assert_int_equal(access_take(known, BYTES("# nobody\n"), &why), STATUS_OK);
    assert_starts(ask_as(*state, "shop-token", "GET /v1/status"), "HTTP/1.1 401 ");
}

static const char *ask_with(struct fixture *f, unsigned open_roles, bool is_for_operators,
                            const char *token, const char *method_and_path)
{
    f->options.open_roles = open_roles;
    f->options.is_for_operators = is_for_operators;
    http_reload(http_port(f->http), &f->options);
    return ask_as(f, token, method_and_path);
}

static void where_others_come_and_nobody_is_known_only_the_open_roles_are_for_all(void **state)
{
    static const unsigned open = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT;
    struct fixture *f = *state;
    const char *reply;

    access_turn_off(known);
    assert_starts(ask_with(f, open, false, "", "POST /v1/topics/t/jobs"), "HTTP/1.1 201 ");
    assert_starts(ask_with(f, open, false, "", "POST /v1/topics/t/pop"), "HTTP/1.1 200 ");
    assert_starts(ask_with(f, open, false, "", "GET /metrics"), "HTTP/1.1 200 ");
    reply = ask_with(f, open, false, "", "POST /v1/topics/t/pause");
    assert_starts(reply, "HTTP/1.1 403 Forbidden\r\n");
    assert_has(reply, "this takes the role operate, which nobody has here");
    reply = ask_with(f, open, false, "ops-token", "POST /v1/cluster/failover");
    assert_starts(reply, "HTTP/1.1 403 Forbidden\r\n");
    assert_has(reply, "this takes the role admin, which nobody has here");
    assert_has(ask_with(f, open, false, "", "GET /v1/access"),
               "\"roles\":[\"produce\",\"consume\",\"inspect\"]");
}

static void where_others_come_an_identity_has_its_roles(void **state)
{
    static const unsigned open = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT;

    assert_starts(ask_with(*state, open, false, "ops-token", "POST /v1/topics/t/pause"),
                  "HTTP/1.1 200 ");
    assert_starts(ask_with(*state, open, false, "", "GET /v1/topics"), "HTTP/1.1 401 ");
}

static void an_operators_port_needs_no_token_and_takes_one(void **state)
{
    assert_starts(ask_with(*state, 0, true, "", "POST /v1/topics/t/pause"), "HTTP/1.1 200 ");
    assert_starts(ask_with(*state, 0, true, "", "GET /v1/topics/other/jobs"), "HTTP/1.1 200 ");
    assert_starts(ask_with(*state, 0, true, "shop-token", "POST /v1/topics/t/pause"),
                  "HTTP/1.1 403 ");
    assert_starts(ask_with(*state, 0, true, "wrong", "GET /v1/status"), "HTTP/1.1 401 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_token_only_what_is_for_everybody),
        TEST(no_answer_tells_why_a_token_is_wrong),
        TEST(a_token_is_good_whatever_the_name),
        TEST(a_token_gives_its_roles_and_no_others),
        TEST(the_scheme_is_written_in_any_case),
        TEST(two_tokens_in_a_request_are_a_mistake),
        TEST(each_topic_of_a_path_must_be_its_own),
        TEST(what_exists_shows_in_no_refusal),
        TEST(lists_leave_out_the_topics_of_others),
        TEST(only_producers_and_consumers_see_a_body),
        TEST(without_a_token_a_client_acts_as_the_ports_identity),
        TEST(says_as_whom_a_request_acts),
        TEST(too_many_without_a_valid_token_are_told_to_wait_and_others_are_not),
        TEST(the_body_of_a_refused_push_takes_no_memory),
        TEST(a_cursor_names_no_topic_of_others),
        TEST(head_takes_what_get_takes),
        TEST(metrics_take_a_token_also_over_the_limit_of_connections),
        TEST(an_identity_that_a_request_has_outlives_a_reload),
        TEST(a_ports_identity_expires_like_any),
        TEST(without_identities_everybody_may_do_everything),
        TEST(where_others_come_and_nobody_is_known_only_the_open_roles_are_for_all),
        TEST(where_others_come_an_identity_has_its_roles),
        TEST(an_operators_port_needs_no_token_and_takes_one),
    };

    return cmocka_run_group_tests_name("admit", tests, NULL, NULL);
}
