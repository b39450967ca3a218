/* Whom a request acts as: tokens, pools, namespaces, roles and rates. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/lmstfy/tests/fixture.h"

#define NO_TOKEN "{\"error\":\"token not found\"}"
#define WRONG    "{\"error\":\"invalid token\"}"
#define NO_POOL  "{\"error\":\"pool not found\"}"
#define NONE     "{\"msg\":\"no job available\"}"

static int set_up(void **state)
{
    struct buf text = BUF_INIT, why = BUF_INIT;
    struct fixture *f;

    if (lmstfy_up(state))
        return -1;
    f = *state;
    add_identity(&text, "all produce,consume,inspect,operate topics=ns/*", "all-token");
    add_identity(&text, "in produce topics=ns/*", "in-token");
    add_identity(&text, "out consume topics=ns/*", "out-token");
    add_identity(&text, "eye inspect topics=ns/*", "eye-token");
    add_identity(&text, "few consume,produce topics=ns/* rate=1", "few-token");
    assert_int_equal(access_take(f->access, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
    f->options.access = f->access;
    f->options.as = "";
    http_reload(http_port(f->http), &f->options);
    return 0;
}

static void a_token_is_in_its_header_or_in_the_query(void **state)
{
    struct fixture *f = *state;

    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: all-token\r\n", NULL), 404, NONE);
    assert_reply(request_with(f, "GET /api/ns/q", "x-token: default:all-token\r\n", NULL), 404,
                 NONE);
    assert_reply(request(f, "GET /api/ns/q?timeout=0&token=all-token", NULL), 404, NONE);
    assert_reply(request(f, "GET /api/ns/q?token=default%3Aall%2Dtoken", NULL), 404, NONE);
    assert_reply(request_with(f, "GET /api/ns/q", "Authorization: Bearer all-token\r\n", NULL),
                 404, NONE);
    assert_reply(
        request_with(f, "GET /api/ns/q?token=all-token", "X-Token: wrong-token\r\n", NULL), 401,
        WRONG);
}

static void without_a_token_nothing_is_done(void **state)
{
    static const char *const lines[] = {"PUT /api/ns/q",       "GET /api/ns/q",
                                        "DELETE /api/ns/q",    "GET /api/ns/q/peek",
                                        "GET /api/ns/q/size",  "GET /api/ns/q/deadletter/size",
                                        "PUT /api/ns/q/job/1", "DELETE /api/ns/q/job/1"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_reply(request(f, lines[i], NULL), 401, NO_TOKEN);
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: \r\n", NULL), 401, NO_TOKEN);
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: default:\r\n", NULL), 401,
                 NO_TOKEN);
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 0);
}

/* Not as whoever the port's clients without a token are. */
static void a_token_that_cannot_be_one_is_a_wrong_one(void **state)
{
    struct fixture *f = *state;
    char line[HTTP_TOKEN_MAX + 100] = "GET /api/ns/q?token=";
    size_t len = strlen(line);

    f->options.as = "all";
    http_reload(http_port(f->http), &f->options);
    memset(line + len, 't', HTTP_TOKEN_MAX + 1);
    assert_reply(request(f, line, NULL), 401, WRONG);
    assert_reply(request(f, "GET /api/ns/q?token=%zz", NULL), 401, WRONG);
    assert_reply(request(f, "GET /api/ns/q", NULL), 404, NONE);
}

static void a_wrong_token_is_told_and_too_many_are_slowed(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < ACCESS_ATTEMPTS; i++)
        assert_reply(request_with(f, "GET /api/ns/q", "X-Token: none\r\n", NULL), 401, WRONG);
    assert_starts(request_with(f, "GET /api/ns/q", "X-Token: none\r\n", NULL), "HTTP/1.1 429 ");
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: all-token\r\n", NULL), 404, NONE);
}

static void there_is_one_pool(void **state)
{
    struct fixture *f = *state;

    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: other:wrong\r\n", NULL), 404,
                 NO_POOL);
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: other:all-token\r\n", NULL), 404,
                 NO_POOL);
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    assert_reply(request_with(f, "PUT /api/ns/q", "X-Token: other:any\r\n", "x"), 404, NO_POOL);
    assert_starts(request_with(f, "PUT /api/ns/q", "X-Token: any\r\n", "x"), "HTTP/1.1 201 ");
}

static void a_token_is_for_its_namespace_alone(void **state)
{
    struct fixture *f = *state;

    assert_reply(request_with(f, "GET /api/other/q", "X-Token: all-token\r\n", NULL), 401,
                 WRONG);
    assert_reply(request_with(f, "PUT /api/nsx/q", "X-Token: all-token\r\n", "x"), 401, WRONG);
    assert_reply(request_with(f, "GET /api/ns/a,b", "X-Token: all-token\r\n", NULL), 404, NONE);
}

static void a_role_that_is_missing_is_named(void **state)
{
    struct fixture *f = *state;

    assert_reply(request_with(f, "PUT /api/ns/q", "X-Token: out-token\r\n", "x"), 403,
                 "{\"error\":\"this takes the role produce, out has consume\"}");
    assert_reply(request_with(f, "DELETE /api/ns/q", "X-Token: out-token\r\n", NULL), 403,
                 "{\"error\":\"this takes the role operate, out has consume\"}");
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: in-token\r\n", NULL), 403,
                 "{\"error\":\"this takes the role consume, in has produce\"}");
}

static void who_inspects_counts_and_sees_no_body(void **state)
{
    struct fixture *f = *state;

    assert_has(request(f, "GET /api/ns/q/size?token=eye-token", NULL), "\"size\":0}");
    assert_has(request(f, "GET /api/ns/q/deadletter?token=eye-token", NULL),
               "\"deadletter_size\":0,");
    assert_starts(request(f, "GET /api/ns/q/peek?token=eye-token", NULL), "HTTP/1.1 403 ");
    assert_starts(request(f, "GET /api/ns/q/job/1?token=eye-token", NULL), "HTTP/1.1 403 ");
}

/* A producer may take back what nobody holds; a consumer may end what it holds. */
static void a_delete_does_what_the_roles_allow(void **state)
{
    struct fixture *f = *state;
    char line[128];

    assert_starts(request_with(f, "PUT /api/ns/q", "X-Token: in-token\r\n", "x"),
                  "HTTP/1.1 201 ");
    snprintf(line, sizeof(line), "DELETE /api/ns/q/job/%s",
             member_of(request_with(f, "GET /api/ns/q/peek", "X-Token: in-token\r\n", NULL),
                       "job_id"));
    assert_nothing(request_with(f, line, "X-Token: out-token\r\n", NULL));
    assert_has(request_with(f, "GET /api/ns/q/size?token=all-token", "", NULL), "\"size\":1}");
    assert_has(request_with(f, "GET /api/ns/q?token=out-token", "", NULL), "new job");
    assert_nothing(request_with(f, line, "X-Token: in-token\r\n", NULL));
    assert_int_equal(memory_store_count(f->ms, OP_ACK), 0);
    assert_nothing(request_with(f, line, "X-Token: out-token\r\n", NULL));
    assert_int_equal(memory_store_count(f->ms, OP_ACK), 1);
}

/* While the holder of the id is looked for. */
static void a_token_that_is_revoked_meanwhile_deletes_nothing(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    struct buf left = BUF_INIT, why = BUF_INIT;
    char line[128];

    assert_starts(request_with(f, "PUT /api/ns/q", "X-Token: in-token\r\n", "x"),
                  "HTTP/1.1 201 ");
    snprintf(line, sizeof(line),
             "DELETE /api/ns/q/job/%s?token=all-token HTTP/1.1\r\nHost: h\r\n\r\n",
             member_of(request_with(f, "GET /api/ns/q/peek", "X-Token: in-token\r\n", NULL),
                       "job_id"));
    memory_store_hold(f->ms);
    say(&c, line);
    AWAIT(f, queue_stats(f->queue)->in_flight > 0);
    add_identity(&left, "in produce topics=ns/*", "in-token");
    assert_int_equal(access_take(f->access, buf_bytes(&left), &why), STATUS_OK);
    buf_fini(&left);
    memory_store_unhold(f->ms);
    assert_reply(receive(&c), 401, WRONG);
    leave(&c);
    assert_has(request_with(f, "GET /api/ns/q/size?token=in-token", "", NULL), "\"size\":1}");
}

static void a_rate_is_told_in_the_originals_words(void **state)
{
    struct fixture *f = *state;

    assert_starts(request_with(f, "PUT /api/ns/q", "X-Token: few-token\r\n", "x"),
                  "HTTP/1.1 201 ");
    assert_reply(request_with(f, "PUT /api/ns/q", "X-Token: few-token\r\n", "x"), 429,
                 "{\"msg\":\"token(few) produce reach the limit rate, please retry later\"}");
    assert_reply(request_with(f, "GET /api/ns/q", "X-Token: few-token\r\n", NULL), 429,
                 "{\"msg\":\"token(few) consume reach the limit rate, please retry later\"}");
}

static void no_page_of_another_site_consumes(void **state)
{
    struct fixture *f = *state;

    assert_starts(request_with(f, "GET /api/ns/q?token=all-token",
                               "Sec-Fetch-Site: cross-site\r\n", NULL),
                  "HTTP/1.1 403 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_in_its_header_or_in_the_query),
        TEST(without_a_token_nothing_is_done),
        TEST(a_token_that_cannot_be_one_is_a_wrong_one),
        TEST(a_wrong_token_is_told_and_too_many_are_slowed),
        TEST(there_is_one_pool),
        TEST(a_token_is_for_its_namespace_alone),
        TEST(a_role_that_is_missing_is_named),
        TEST(who_inspects_counts_and_sees_no_body),
        TEST(a_delete_does_what_the_roles_allow),
        TEST(a_token_that_is_revoked_meanwhile_deletes_nothing),
        TEST(a_rate_is_told_in_the_originals_words),
        TEST(no_page_of_another_site_consumes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
