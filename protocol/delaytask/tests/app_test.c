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
        cmocka_unit_test_setup_teardown(the_reply_is_json_with_a_length, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(a_form_that_is_json_is_json, set_up, fixture_down),
        cmocka_unit_test_setup_teardown(what_is_refused_says_why, set_up, fixture_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
