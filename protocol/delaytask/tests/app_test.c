/* The delaytask port with an engine behind it: a task's life, and what is refused. */
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
#include "protocol/delaytask/delaytask.h"
#include "protocol/http/tests/server_fixture.h"

#define ADD  "/delay/task/add"
#define PULL "/delay/task/pull"
#define NONE "{\"dm_error\":404,\"error_msg\":\"not_found: no such task is due\"}"

static int set_up(void **state)
{
    return fixture_up_app(state, &delaytask_app, NULL);
}

/* Due so many seconds from now; returns the task's id. */
static long long add(struct fixture *f, const char *content, int64_t in_s)
{
    static const char id[] = "\"task_id\":";
    char body[200];
    const char *reply;

    snprintf(body, sizeof(body), "{\"topic\":\"t\",\"timing_moment\":%lld,\"content\":\"%s\"}",
             (long long)(memory_store_now(f->ms) / 1000 + in_s), content);
    reply = call(f, "POST", ADD, body);
    assert_reply_starts(reply, 200, "{\"dm_error\":0,");
    return atoll(strstr(reply, id) + strlen(id));
}

static void a_task_is_pulled_once_it_is_due(void **state)
{
    struct fixture *f = *state;

    add(f, "{\\\"sn\\\":\\\"orders\\\",\\\"url\\\":\\\"/close\\\"}", 5);
    assert_reply(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200, NONE);
    fixture_pass(f, 6000);
    assert_reply(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200,
                 "{\"dm_error\":0,\"error_msg\":\"操作成功\","
                 "\"content\":\"{\\\"sn\\\":\\\"orders\\\",\\\"url\\\":\\\"/close\\\"}\"}");
    fixture_pass(f, 3600 * 1000);
    assert_reply(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200, NONE);
}

static void pull(struct fixture *f, long long id, const char *expected)
{
    char body[100];

    snprintf(body, sizeof(body), "{\"topic\":\"t\",\"task_id\":%lld}", id);
    assert_reply_starts(call(f, "POST", PULL, body), 200, expected);
}

static void a_task_can_be_pulled_by_its_id_but_not_early(void **state)
{
    struct fixture *f = *state;
    long long first = add(f, "first", 5), second = add(f, "second", 5);

    pull(f, second,
         "{\"dm_error\":409,\"error_msg\":\"wrong_state: the task is not due yet\"}");
    pull(f, second + first, NONE);
    fixture_pass(f, 6000);
    pull(f, second, "{\"dm_error\":0,\"error_msg\":\"操作成功\",\"content\":\"second\"}");
    pull(f, second, NONE);
    assert_reply(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200,
                 "{\"dm_error\":0,\"error_msg\":\"操作成功\",\"content\":\"first\"}");
    fixture_pass(f, 3600 * 1000);
    assert_reply(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200, NONE);
}

static void errors_of_the_store_are_told_apart(void **state)
{
    static const char body[] = "{\"topic\":\"t\",\"timing_moment\":1,\"content\":\"c\"}";
    struct fixture *f = *state;

    add(f, "c", 3600); /* the topic's settings are known */
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    assert_reply_starts(call(f, "POST", ADD, body), 200,
                        "{\"dm_error\":503,\"error_msg\":\"unavailable: ");
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_reply_starts(call(f, "POST", ADD, body), 200,
                        "{\"dm_error\":504,\"error_msg\":\"unknown: ");
}

static void topics_are_those_of_the_ports_identity(void **state)
{
    struct fixture *f = *state;
    struct access *known = fixture_let_in(f, "shop produce topics=t\n");

    add(f, "c", 0);
    assert_reply_starts(
        call(f, "POST", ADD, "{\"topic\":\"u\",\"timing_moment\":1,\"content\":\"c\"}"), 200,
        "{\"dm_error\":403,\"error_msg\":\"forbidden: shop is not for this topic\"}");
    assert_reply_starts(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200,
                        "{\"dm_error\":403,\"error_msg\":\"forbidden: ");
    fixture_shut_out(f, known);
}

/* "s,t" begins as the topics of the identity do. */
static void a_list_of_topics_is_none(void **state)
{
    struct fixture *f = *state;
    struct access *known;

    add(f, "c", -10);
    known = fixture_let_in(f, "shop consume topics=s*\n");
    assert_reply_starts(call(f, "POST", PULL, "{\"topic\":\"s,t\"}"), 200,
                        "{\"dm_error\":400,\"error_msg\":\"bad_topic: ");
    fixture_shut_out(f, known);
    assert_reply_starts(call(f, "POST", PULL, "{\"topic\":\"t\"}"), 200, "{\"dm_error\":0,");
}

static void the_reply_is_json_with_a_length(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    add(f, "c", -10);
    reply = call(f, "POST", PULL, "{\"topic\":\"t\"}");
    assert_has(reply, "\r\nContent-Type: application/json\r\nContent-Length: 55\r\n\r\n");
}

static void a_form_that_is_json_is_json(void **state)
{
    static const char request[] =
        "POST /delay/task/pull?v=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n" CLOSE "{\"topic\":\"t\"}";

    assert_has(ask(*state, request), "\r\n\r\n" NONE);
}

static void what_is_refused_says_why(void **state)
{
    struct fixture *f = *state;

    assert_reply_starts(call(f, "POST", ADD, "{\"topic\":\"t\",\"content\":\"{\"a\":1}\"}"),
                        200,
                        "{\"dm_error\":400,\"error_msg\":\"bad_request: the body is not JSON");
    assert_reply_starts(
        call(f, "POST", ADD, "{\"topic\":\"a b\",\"content\":\"c\",\"timing_moment\":1}"), 200,
        "{\"dm_error\":400,\"error_msg\":\"bad_topic: ");
    assert_reply_starts(
        call(f, "POST", ADD,
             "{\"topic\":\"t\",\"content\":\"c\",\"timing_moment\":9999999999}"),
        200, "{\"dm_error\":400,\"error_msg\":\"out_of_range: ");
    assert_reply_starts(call(f, "POST", PULL, "{\"topic\":\"a,a b\"}"), 200,
                        "{\"dm_error\":400,\"error_msg\":\"bad_topic: ");
    assert_reply_starts(call(f, "GET", "/delay/task/pull", NULL), 405, "{\"dm_error\":405,");
    assert_reply_starts(call(f, "POST", "/delay/task/none", ""), 404, "{\"dm_error\":404,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_task_is_pulled_once_it_is_due, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(a_task_can_be_pulled_by_its_id_but_not_early, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(errors_of_the_store_are_told_apart, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(topics_are_those_of_the_ports_identity, set_up,
                                        fixture_down),
        cmocka_unit_test_setup_teardown(a_list_of_topics_is_none, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(the_reply_is_json_with_a_length, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(a_form_that_is_json_is_json, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(what_is_refused_says_why, set_up, fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
