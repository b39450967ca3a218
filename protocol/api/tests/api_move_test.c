#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define JOB "/v1/topics/t/jobs/1"
#define NOW 1900000000000

static void push_delayed(struct fixture *f)
{
    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"delay_ms\":60000}");
    memory_store_set_now(f->ms, NOW);
}

static void bury(struct fixture *f)
{
    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    assert_starts(call(f, "POST", JOB "/bury", with_lease(pop_lease(f, "t"), "")),
                  "HTTP/1.1 200 ");
    memory_store_set_now(f->ms, NOW);
}

static void makes_a_delayed_job_ready(void **state)
{
    struct fixture *f = *state;

    push_delayed(f);
    assert_time(call(f, "POST", JOB "/run", NULL), "due_ms", NOW);
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_time(call(f, "POST", JOB "/run", NULL), "due_ms", NOW);
    assert_error(call(f, "POST", "/v1/topics/t/jobs/2/run", NULL), 404, "not_found");
}

static void takes_a_job_from_its_consumer(void **state)
{
    struct fixture *f = *state;
    char lease[32];

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    snprintf(lease, sizeof(lease), "%s", pop_lease(f, "t"));
    assert_starts(call(f, "POST", JOB "/run", NULL), "HTTP/1.1 200 ");
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_error(call(f, "POST", JOB "/ack", with_lease(lease, "")), 409, "not_reserved");
}

static void only_a_kick_brings_the_dead_back(void **state)
{
    struct fixture *f = *state;

    bury(f);
    assert_error(call(f, "POST", JOB "/run", NULL), 409, "wrong_state");
    assert_time(call(f, "POST", JOB "/kick", NULL), "due_ms", NOW);
    assert_string_equal(state_of(f, "t", "1"), "ready");
    assert_error(call(f, "POST", JOB "/kick", NULL), 409, "wrong_state");
}

/* It was meant for another path: to go on without it would be what nobody wanted. */
static void a_body_that_says_something_is_not_thrown_away(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push_delayed(f);
    reply = call(f, "POST", JOB "/run", "{\"delay_ms\":3600000}");
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "delay_ms: unknown member");
    assert_error(call(f, "POST", JOB "/run", "[]"), 400, "bad_request");
    assert_string_equal(state_of(f, "t", "1"), "delayed");
    assert_starts(call(f, "POST", JOB "/run", " {} "), "HTTP/1.1 200 ");
    assert_error(call(f, "POST", JOB "/kick", "{\"limit\":1}"), 400, "bad_request");
    assert_error(call(f, "POST", JOB "/kick", "{}"), 409, "wrong_state");
}

static void makes_a_job_due_at_another_time(void **state)
{
    struct fixture *f = *state;

    push_delayed(f);
    assert_time(call(f, "POST", JOB "/reschedule", "{\"delay_ms\":50000}"), "due_ms",
                NOW + 50000);
    assert_reply(call(f, "POST", JOB "/reschedule", "{\"at_ms\":1900000060000}"), 200,
                 "{\"due_ms\":1900000060000}");
    assert_string_equal(state_of(f, "t", "1"), "delayed");
    assert_starts(call(f, "POST", JOB "/reschedule", "{\"at_ms\":100000000000}"),
                  "HTTP/1.1 200 ");
    assert_string_equal(state_of(f, "t", "1"), "ready");
}

static void a_dead_job_may_come_back_later(void **state)
{
    struct fixture *f = *state;

    bury(f);
    assert_starts(call(f, "POST", JOB "/reschedule", "{\"delay_ms\":50000}"), "HTTP/1.1 200 ");
    assert_string_equal(state_of(f, "t", "1"), "delayed");
}

static void says_what_is_wrong_with_a_time(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push_delayed(f);
    assert_error(call(f, "POST", JOB "/reschedule", NULL), 400, "bad_request");
    reply = call(f, "POST", JOB "/reschedule", "{}");
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "delay_ms: missing");
    reply = call(f, "POST", JOB "/reschedule", "{\"at_ms\":281474976710655}");
    assert_error(reply, 400, "out_of_range");
    assert_has(reply, "it would be due in more than 3650 days");
    assert_string_equal(state_of(f, "t", "1"), "delayed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(makes_a_delayed_job_ready),
        TEST(takes_a_job_from_its_consumer),
        TEST(only_a_kick_brings_the_dead_back),
        TEST(makes_a_job_due_at_another_time),
        TEST(a_body_that_says_something_is_not_thrown_away),
        TEST(a_dead_job_may_come_back_later),
        TEST(says_what_is_wrong_with_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
