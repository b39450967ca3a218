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

struct asking {
    struct op op;
    bool is_done;
};

static void on_asked(struct op *op)
{
    CONTAINER_OF(op, struct asking, op)->is_done = true;
}

/* Of the engine, past the port. */
static struct op run(struct fixture *f, struct op op)
{
    struct asking a = {.op = op};

    a.op.on_done = on_asked;
    queue_submit(f->queue, &a.op);
    AWAIT(f, a.is_done);
    return a.op;
}

static bool is_there(struct fixture *f, const char *topic)
{
    struct op op = {.verb = OP_GET, .topic = bytes_of_text(topic), .id = BYTES("a")};

    return run(f, op).status == STATUS_OK;
}

/* Sends it, and lets answers of the store come, and effects with them, until that of this verb
 * is kept back. */
static struct client push_as_far_as(struct fixture *f, enum op_verb verb)
{
    struct client c = connect_client(f);
    unsigned long before = memory_store_count(f->ms, verb);

    memory_store_hold(f->ms);
    send_call(&c, "POST", "/push", PUSH_OF_A);
    while (memory_store_count(f->ms, verb) == before) {
        fixture_turn(f);
        if (memory_store_count(f->ms, verb) == before)
            memory_store_release(f->ms, 1);
    }
    return c;
}

static void expect_reply_of(struct fixture *f, struct client *c, const char *start)
{
    memory_store_unhold(f->ms);
    assert_reply_starts(receive(c), 200, start);
    leave(c);
}

static void a_full_topic_costs_no_job_of_another_one(void **state)
{
    struct fixture *f = *state;
    struct op full = {.verb = OP_CONFIGURE, .topic = BYTES("t")};

    full.in.configure.mask = SETTING_BIT(MAX_JOBS);
    full.in.configure.settings =
        (struct topic_settings){.set = SETTING_BIT(MAX_JOBS), .max_jobs = 1};
    assert_int_equal(run(f, full).status, STATUS_OK);
    push(f, "t", "b", "it is full");
    push(f, "u", "a", "b");
    assert_reply_starts(call(f, "POST", "/push", PUSH_OF_A), 200,
                        "{\"code\":1,\"message\":\"添加失败: topic_full: ");
    assert_true(is_there(f, "u"));
    assert_false(is_there(f, "t"));
}

#define LEFT_RIVAL                                                                               \
    "{\"code\":1,\"message\":\"添加失败: unknown: the job is pushed, but an older one with " \
    "its "                                                                                       \
    "id, in another topic, may be there still: push again\""

/* `v` is in another bucket than `t`, so that a repetition finds its job. */
static void a_cancel_that_fails_behind_a_push_says_that_both_may_be_there(void **state)
{
    static const struct {
        enum status status;
        enum memory_effect effect;
        bool stays;
    } rows[] = {{STATUS_UNAVAILABLE, MEMORY_UNDONE, true},
                {STATUS_STORE_ERROR, MEMORY_UNDONE, true},
                {STATUS_UNKNOWN, MEMORY_DONE, false}};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;

        push(f, "v", "a", "b");
        c = push_as_far_as(f, OP_PUSH);
        memory_store_fail(f->ms, 1, rows[i].status, rows[i].effect);
        expect_reply_of(f, &c, LEFT_RIVAL);
        assert_true(is_there(f, "t"));
        assert_int_equal(is_there(f, "v"), rows[i].stays);
        push(f, "t", "a", "again");
        assert_true(is_there(f, "t"));
        assert_false(is_there(f, "v"));
    }
}

static void a_push_whose_answer_is_lost_leaves_the_job_of_another_topic(void **state)
{
    struct fixture *f = *state;
    struct client c;

    push(f, "u", "a", "b");
    c = push_as_far_as(f, OP_GET);
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    expect_reply_of(f, &c,
                    "{\"code\":1,\"message\":\"添加失败: unknown: the store did not answer");
    assert_true(is_there(f, "u"));
    assert_true(is_there(f, "t"));
}

/* Else the other push, to this topic, could have cancelled ours, and neither would be left. */
static void a_job_that_is_pushed_anew_meanwhile_is_not_cancelled(void **state)
{
    struct fixture *f = *state;
    struct op other = {.verb = OP_PUSH, .topic = BYTES("u"), .id = BYTES("a")};
    struct asking a;
    struct client c;

    push(f, "u", "a", "b");
    c = push_as_far_as(f, OP_GET);
    other.in.push.mode = PUSH_REPLACE;
    other.in.push.delay_ms = 5000;
    other.on_done = on_asked;
    a = (struct asking){.op = other};
    queue_submit(f->queue, &a.op);
    expect_reply_of(f, &c, LEFT_RIVAL);
    AWAIT(f, a.is_done);
    assert_true(is_there(f, "u"));
    assert_true(is_there(f, "t"));
}

static void a_job_that_goes_meanwhile_is_no_rival(void **state)
{
    struct fixture *f = *state;
    struct client c;
    struct asking a = {
        .op = {.verb = OP_CANCEL, .topic = BYTES("u"), .id = BYTES("a"), .on_done = on_asked}};

    push(f, "u", "a", "b");
    c = push_as_far_as(f, OP_PUSH);
    queue_submit(f->queue, &a.op);
    expect_reply_of(f, &c, PUSHED);
    AWAIT(f, a.is_done);
    assert_true(is_there(f, "t"));
}

static void a_client_that_leaves_behind_its_push_leaves_no_rival(void **state)
{
    struct fixture *f = *state;
    struct client c;

    push(f, "u", "a", "b");
    c = push_as_far_as(f, OP_PUSH);
    leave(&c);
    memory_store_unhold(f->ms);
    AWAIT(f, !is_there(f, "u"));
    assert_true(is_there(f, "t"));
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
        TEST(a_full_topic_costs_no_job_of_another_one),
        TEST(a_cancel_that_fails_behind_a_push_says_that_both_may_be_there),
        TEST(a_push_whose_answer_is_lost_leaves_the_job_of_another_topic),
        TEST(a_job_that_is_pushed_anew_meanwhile_is_not_cancelled),
        TEST(a_job_that_goes_meanwhile_is_no_rival),
        TEST(a_client_that_leaves_behind_its_push_leaves_no_rival),
        TEST(topics_are_those_of_the_ports_identity),
        TEST(a_consumer_finishes_no_delayed_job),
        TEST(an_identity_that_goes_meanwhile_deletes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
