/* The ouqiang port with an engine behind it, in raw bytes: a job's life, ids that are of one
 * job in all topics, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/store/memory/store.h"
#include "protocol/access/access.h"
#include "protocol/http/tests/server_fixture.h"
#include "protocol/ouqiang/ouqiang.h"

#define DONE   "{\"code\":0,\"message\":\"操作成功\",\"data\":null}"
#define PUSHED "{\"code\":0,\"message\":\"添加成功\",\"data\":null}"

static int set_up(void **state)
{
    return fixture_up_app(state, &ouqiang_app, NULL);
}

static void push(struct fixture *f, const char *topic, const char *id, const char *body)
{
    char json[200];

    snprintf(json, sizeof(json),
             "{\"topic\":\"%s\",\"id\":\"%s\",\"delay\":1,\"ttr\":60,\"body\":\"%s\"}", topic,
             id, body);
    assert_reply(call(f, "POST", "/push", json), 200, PUSHED);
}

static void expect_popped(struct fixture *f, const char *topics, const char *id,
                          const char *body)
{
    char json[100], expected[200];

    snprintf(json, sizeof(json), "{\"topic\":\"%s\"}", topics);
    snprintf(expected, sizeof(expected),
             "{\"code\":0,\"message\":\"操作成功\",\"data\":{\"id\":\"%s\",\"body\":\"%s\"}}",
             id, body);
    assert_reply(call(f, "POST", "/pop", json), 200, expected);
}

/* A pop that comes to nothing, without its wait. */
static void expect_nothing(struct fixture *f, const char *topics)
{
    char request[200];
    struct client c = connect_client(f);

    snprintf(request, sizeof(request),
             "POST /pop HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n{\"topic\":\"%s\"}",
             strlen(topics) + 12, topics);
    say(&c, request);
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    fixture_pass(f, 178000);
    assert_has(receive(&c), "\r\n\r\n" DONE);
    leave(&c);
}

static void a_job_comes_when_it_is_due_and_again_after_its_ttr(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "1", "b");
    fixture_pass(f, 1000);
    expect_popped(f, "other,t", "1", "b");
    fixture_pass(f, 60000);
    expect_popped(f, "t", "1", "b");
    assert_reply(call(f, "POST", "/finish", "{\"id\":\"1\"}"), 200, DONE);
    assert_reply(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200, DONE);
    fixture_pass(f, 60000);
    expect_nothing(f, "t");
}

static void the_replies_are_text_with_a_length(void **state)
{
    static const char request[] =
        "BREW /get?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n" CLOSE "{\"id\":\"1\"}";
    const char *reply = ask(*state, request);

    assert_starts(reply, "HTTP/1.1 200 OK\r\nDate: ");
    assert_has(
        reply,
        "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 47\r\n\r\n" DONE);
}

static void a_job_is_seen_in_any_state(void **state)
{
    struct fixture *f = *state;
    char expected[200];

    push(f, "t", "1", "b");
    snprintf(expected, sizeof(expected),
             "{\"code\":0,\"message\":\"操作成功\",\"data\":{\"topic\":\"t\",\"id\":\"1\","
             "\"delay\":%lld,"
             "\"ttr\":60,\"body\":\"b\"}}",
             (long long)(memory_store_now(f->ms) + 1000) / 1000);
    assert_reply(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200, expected);
    fixture_pass(f, 1000);
    assert_reply(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200, expected);
    expect_popped(f, "t", "1", "b");
    assert_reply(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200, expected);
}

static void a_job_can_be_deleted_in_any_state(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "delayed", "b");
    assert_reply(call(f, "POST", "/delete", "{\"id\":\" delayed \"}"), 200, DONE);
    push(f, "t", "ready", "b");
    fixture_pass(f, 1000);
    assert_reply(call(f, "POST", "/delete", "{\"id\":\"ready\"}"), 200, DONE);
    push(f, "t", "reserved", "b");
    fixture_pass(f, 1000);
    expect_popped(f, "t", "reserved", "b");
    assert_reply(call(f, "POST", "/delete", "{\"id\":\"reserved\"}"), 200, DONE);
    assert_reply(call(f, "POST", "/delete", "{\"id\":\"unknown\"}"), 200, DONE);
    fixture_pass(f, 60000);
    expect_nothing(f, "t");
}

static void an_id_is_of_one_job_in_all_topics(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "1", "first");
    push(f, "t", "1", "second");
    push(f, "u", "1", "third");
    fixture_pass(f, 1000);
    expect_popped(f, "t,u", "1", "third");
    push(f, "v", "1", "fourth");
    fixture_pass(f, 1000);
    expect_popped(f, "t,u,v", "1", "fourth");
    assert_reply(call(f, "POST", "/finish", "{\"id\":\"1\"}"), 200, DONE);
    fixture_pass(f, 60000);
    expect_nothing(f, "t,u,v");
}

static void what_is_refused_says_why(void **state)
{
    static const char *const refused[][3] = {
        {"/push", "", "{\"code\":1,\"message\":\"解析json失败\",\"data\":null}"},
        {"/push", "{}", "{\"code\":1,\"message\":\"job id不能为空\",\"data\":null}"},
        {"/push", "{\"id\":\"1\"}",
         "{\"code\":1,\"message\":\"topic 不能为空\",\"data\":null}"},
        {"/push", "{\"id\":\"1\",\"topic\":\"t\",\"delay\":0}",
         "{\"code\":1,\"message\":\"delay 取值范围1 - (2^31 - 1)\",\"data\":null}"},
        {"/push", "{\"id\":\"1\",\"topic\":\"t\",\"delay\":1}",
         "{\"code\":1,\"message\":\"ttr 取值范围1 - 86400\",\"data\":null}"},
        {"/push", "{\"id\":\"a b\",\"topic\":\"t\",\"delay\":1,\"ttr\":1}",
         "{\"code\":1,\"message\":\"添加失败: bad_id: a job id is"},
        {"/push", "{\"id\":\"1\",\"topic\":\"a b\",\"delay\":1,\"ttr\":1}",
         "{\"code\":1,\"message\":\"添加失败: bad_topic: a topic is"},
        {"/pop", "[]", "{\"code\":1,\"message\":\"解析json失败\",\"data\":null}"},
        {"/pop", "{\"topic\":\" \"}",
         "{\"code\":1,\"message\":\"topic不能为空\",\"data\":null}"},
        {"/pop", "{\"topic\":\"t,\"}",
         "{\"code\":1,\"message\":\"获取Job失败: bad_topic: a topic is"},
        {"/finish", "{\"id\":1}", "{\"code\":1,\"message\":\"解析json失败\",\"data\":null}"},
        {"/finish", "{}", "{\"code\":1,\"message\":\"job id不能为空\",\"data\":null}"},
        {"/delete", "{\"id\":\"\"}",
         "{\"code\":1,\"message\":\"job id不能为空\",\"data\":null}"},
        {"/delete", "{\"id\":\"a b\"}", "{\"code\":1,\"message\":\"删除失败: bad_id: a job id"},
        {"/get", "{\"id\":null}", "{\"code\":1,\"message\":\"job id不能为空\",\"data\":null}"},
        {"/get", "", "{\"code\":1,\"message\":\"解析json失败\",\"data\":null}"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        assert_reply_starts(call(*state, "POST", refused[i][0], refused[i][1]), 200,
                            refused[i][2]);
    assert_reply(call(*state, "POST", "/none", "{}"), 404, "404 page not found\n");
    assert_reply(call(*state, "GET", "/", NULL), 404, "404 page not found\n");
}

static void no_page_of_another_site_asks(void **state)
{
    static const char request[] = "GET /finish HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n"
                                  "Sec-Fetch-Site: cross-site\r\n" CLOSE "{\"id\":\"1\"}";
    struct fixture *f = *state;

    push(f, "t", "1", "b");
    assert_has(ask(f, request),
               "\r\n\r\n{\"code\":1,\"message\":\"删除失败: forbidden_origin: ");
    assert_reply_starts(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200,
                        "{\"code\":0,\"message\":\"操作成功\",\"data\":{");
}

static void a_body_over_the_limit_is_refused(void **state)
{
    struct buf json = BUF_INIT;

    buf_add_text(&json, "{\"id\":\"1\",\"topic\":\"t\",\"delay\":1,\"ttr\":1,\"body\":\"");
    for (unsigned i = 0; i < JOB_BODY_MAX + 1; i++)
        buf_add_char(&json, 'x');
    buf_add_text(&json, "\"}");
    push(*state, "u", "1", "of another topic");
    assert_reply_starts(call(*state, "POST", "/push", buf_text(&json)), 200,
                        "{\"code\":1,\"message\":\"添加失败: too_large: ");
    buf_fini(&json);
    assert_reply_starts(call(*state, "POST", "/get", "{\"id\":\"1\"}"), 200,
                        "{\"code\":0,\"message\":\"操作成功\",\"data\":{\"topic\":\"u\"");
}

#define PUSH_OF_A "{\"id\":\"a\",\"topic\":\"t\",\"delay\":1,\"ttr\":1}"

static void nothing_happens_where_the_store_is_away(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 100, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    assert_reply_starts(call(f, "POST", "/push", PUSH_OF_A), 200,
                        "{\"code\":1,\"message\":\"添加失败: unavailable: ");
    assert_reply_starts(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200,
                        "{\"code\":1,\"message\":\"查询失败: unavailable: ");
    assert_reply_starts(call(f, "POST", "/finish", "{\"id\":\"1\"}"), 200,
                        "{\"code\":1,\"message\":\"删除失败: unavailable: ");
}

/* The job that is in the way may be gone, or not: the push is not tried, and says so. */
static void an_answer_that_is_lost_is_told_from_a_refusal(void **state)
{
    struct fixture *f = *state;
    struct client c;

    push(f, "u", "a", "b");
    memory_store_hold(f->ms);
    c = connect_client(f);
    send_call(&c, "POST", "/push", PUSH_OF_A);
    AWAIT(f, queue_stats(f->queue)->in_flight > 0);
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE); /* after the search, the cancel */
    memory_store_unhold(f->ms);
    assert_reply_starts(receive(&c), 200, "{\"code\":1,\"message\":\"添加失败: unknown: ");
    leave(&c);
    assert_int_equal(queue_stats(f->queue)->done[OP_PUSH], 1);
}

static void a_push_that_fails_behind_a_cancel_says_what_is_gone(void **state)
{
    struct fixture *f = *state;
    struct client c;

    push(f, "u", "a", "b");
    memory_store_hold(f->ms);
    c = connect_client(f);
    send_call(&c, "POST", "/push", PUSH_OF_A);
    AWAIT(f, queue_stats(f->queue)->in_flight == 4); /* the search, in each bucket */
    memory_store_release(f->ms, 4);
    AWAIT(f, queue_stats(f->queue)->in_flight == 1); /* the cancel */
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    assert_has(receive(&c), "{\"code\":1,\"message\":\"添加失败: unavailable: ");
    assert_has(buf_text(&f->reply), "; the id's job in another topic is gone: push it again\"");
    leave(&c);
}

static void topics_are_those_of_the_ports_identity(void **state)
{
    struct fixture *f = *state;
    struct buf why = BUF_INIT;
    struct access *known = access_new();

    push(f, "u", "2", "b");
    assert_int_equal(access_take(known, BYTES("shop produce,consume topics=t*\n"), &why),
                     STATUS_OK);
    f->options.access = known;
    f->options.as = "shop";
    http_reload(http_port(f->http), &f->options);
    push(f, "t", "1", "b");
    assert_reply_starts(
        call(f, "POST", "/push", "{\"id\":\"1\",\"topic\":\"u\",\"delay\":1,\"ttr\":1}"), 200,
        "{\"code\":1,\"message\":\"添加失败: forbidden: ");
    assert_reply_starts(call(f, "POST", "/pop", "{\"topic\":\"t,u\"}"), 200,
                        "{\"code\":1,\"message\":\"获取Job失败: forbidden: ");
    assert_reply(call(f, "POST", "/get", "{\"id\":\"2\"}"), 200, DONE);
    assert_reply(call(f, "POST", "/delete", "{\"id\":\"2\"}"), 200, DONE);
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    access_free(known);
    assert_reply_starts(call(f, "POST", "/get", "{\"id\":\"2\"}"), 200,
                        "{\"code\":0,\"message\":\"操作成功\",\"data\":{\"topic\":\"u\"");
}

/* As a producer's it is what /delete is. */
static void a_consumer_finishes_no_delayed_job(void **state)
{
    struct fixture *f = *state;
    struct buf why = BUF_INIT;
    struct access *known = access_new();

    push(f, "t", "1", "b");
    assert_int_equal(access_take(known, BYTES("shop consume\n"), &why), STATUS_OK);
    f->options.access = known;
    f->options.as = "shop";
    http_reload(http_port(f->http), &f->options);
    assert_reply_starts(call(f, "POST", "/finish", "{\"id\":\"1\"}"), 200,
                        "{\"code\":1,\"message\":\"删除失败: wrong_state: ");
    fixture_pass(f, 2000);
    expect_popped(f, "t", "1", "b");
    assert_reply(call(f, "POST", "/finish", "{\"id\":\"1\"}"), 200, DONE);
    assert_reply(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200, DONE);
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    access_free(known);
}

/* While its id is looked for. */
static void an_identity_that_goes_meanwhile_deletes_nothing(void **state)
{
    struct fixture *f = *state;
    struct buf why = BUF_INIT;
    struct access *known = access_new();
    struct client c = connect_client(f);

    push(f, "t", "1", "b");
    assert_int_equal(access_take(known, BYTES("shop produce\n"), &why), STATUS_OK);
    f->options.access = known;
    f->options.as = "shop";
    http_reload(http_port(f->http), &f->options);
    memory_store_hold(f->ms);
    send_call(&c, "POST", "/delete", "{\"id\":\"1\"}");
    AWAIT(f, queue_stats(f->queue)->in_flight > 0);
    assert_int_equal(access_take(known, BYTES("other produce\n"), &why), STATUS_OK);
    memory_store_unhold(f->ms);
    assert_reply_starts(receive(&c), 200, "{\"code\":1,\"message\":\"删除失败: forbidden: ");
    leave(&c);
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    access_free(known);
    assert_reply_starts(call(f, "POST", "/get", "{\"id\":\"1\"}"), 200,
                        "{\"code\":0,\"message\":\"操作成功\",\"data\":{\"topic\":\"t\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)
        TEST(a_job_comes_when_it_is_due_and_again_after_its_ttr),
        TEST(the_replies_are_text_with_a_length),
        TEST(a_job_is_seen_in_any_state),
        TEST(a_job_can_be_deleted_in_any_state),
        TEST(an_id_is_of_one_job_in_all_topics),
        TEST(what_is_refused_says_why),
        TEST(no_page_of_another_site_asks),
        TEST(a_body_over_the_limit_is_refused),
        TEST(nothing_happens_where_the_store_is_away),
        TEST(an_answer_that_is_lost_is_told_from_a_refusal),
        TEST(a_push_that_fails_behind_a_cancel_says_what_is_gone),
        TEST(topics_are_those_of_the_ports_identity),
        TEST(a_consumer_finishes_no_delayed_job),
        TEST(an_identity_that_goes_meanwhile_deletes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
