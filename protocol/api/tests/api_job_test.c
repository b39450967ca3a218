#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define JOB   "/v1/topics/t/jobs/1"
#define AT_MS "\"at_ms\":1900000000000"

static void shows_a_job_as_it_is(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"ttr_ms\":5," AT_MS "}");
    memory_store_set_now(f->ms, 1900000000000);
    assert_string_equal(state_of(f, "t", "1"), "delayed");
    fixture_pass(f, 1000);
    assert_string_equal(state_of(f, "t", "1"), "ready");
    pop_lease(f, "t");
    assert_string_equal(state_of(f, "t", "1"), "reserved");
    assert_error(call(f, "GET", "/v1/topics/t/jobs/2", NULL), 404, "not_found");
    assert_error(call(f, "GET", "/v1/topics/t/jobs/%20", NULL), 400, "bad_id");
}

static void shows_all_of_a_job_but_its_lease(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"ttr_ms\":0,\"at_ms\":100000000000}");
    assert_reply(
        call(f, "GET", JOB, NULL), 200,
        "{\"id\":\"1\",\"topic\":\"t\",\"body\":\"b\",\"state\":\"ready\","
        "\"due_ms\":100000000000,\"delay_ms\":0,\"ttr_ms\":0,\"tries\":0,\"priority\":1024,"
        "\"max_tries\":0,\"backoff\":{\"kind\":\"none\"}}");
    reply = call(f, "HEAD", JOB, NULL);
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_string_equal(json_of(reply), "");
}

static void cancels_a_job(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    assert_has(call(f, "DELETE", JOB, "{\"lease\":\"1\"}"), "lease: unknown member");
    reply = call(f, "DELETE", JOB, NULL);
    assert_reply(reply, 204, "");
    assert_null(strstr(reply, "Content-Length"));
    assert_error(call(f, "DELETE", JOB, NULL), 404, "not_found");
}

static void acknowledges_with_the_lease_alone(void **state)
{
    struct fixture *f = *state;
    char lease[32];

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    assert_error(call(f, "POST", JOB "/ack", "{\"lease\":\"1\"}"), 409, "not_reserved");
    snprintf(lease, sizeof(lease), "%s", pop_lease(f, "t"));
    assert_error(call(f, "POST", JOB "/ack", "{\"lease\":\"1\"}"), 409, "not_owner");
    assert_string_equal(state_of(f, "t", "1"), "reserved");
    assert_reply(call(f, "POST", JOB "/ack", with_lease(lease, "")), 204, "");
    assert_error(call(f, "POST", JOB "/ack", with_lease(lease, "")), 404, "not_found");
}

static void whoever_is_too_late_hears_that_the_time_to_run_has_run_out(void **state)
{
    struct fixture *f = *state;
    char lease[32];

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"ttr_ms\":1000}");
    snprintf(lease, sizeof(lease), "%s", pop_lease(f, "t"));
    fixture_pass(f, 3000);
    AWAIT(f, !strcmp(state_of(f, "t", "1"), "ready"));
    assert_has(call(f, "POST", JOB "/ack", with_lease(lease, "")),
               "its time to run (TTR) has run out");
    pop_lease(f, "t");
    assert_has(call(f, "POST", JOB "/ack", with_lease(lease, "")),
               "its time to run (TTR) has run out");
}

static void gives_a_job_back_at_once_or_later(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    memory_store_set_now(f->ms, 1900000000000);
    reply = call(f, "POST", JOB "/release", with_lease(pop_lease(f, "t"), ""));
    assert_has(reply, ",\"tries\":1}");
    assert_time(reply, "due_ms", 1900000000000);
    assert_string_equal(state_of(f, "t", "1"), "ready");
    reply =
        call(f, "POST", JOB "/release", with_lease(pop_lease(f, "t"), ",\"delay_ms\":60000"));
    assert_has(reply, ",\"tries\":2}");
    assert_time(reply, "due_ms", 1900000060000);
    assert_string_equal(state_of(f, "t", "1"), "delayed");
}

static void a_job_given_back_rests_as_its_backoff_says(void **state)
{
    struct fixture *f = *state;

    push(f, "t",
         "{\"id\":\"1\",\"body\":\"b\",\"backoff\":{\"kind\":\"fixed\",\"base_ms\":5000}}");
    memory_store_set_now(f->ms, 1900000000000);
    assert_time(call(f, "POST", JOB "/release", with_lease(pop_lease(f, "t"), "")), "due_ms",
                1900000005000);
    assert_string_equal(state_of(f, "t", "1"), "delayed");
}

static void a_job_whose_tries_are_used_up_is_dead(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"max_tries\":1}");
    assert_reply(call(f, "POST", JOB "/release", with_lease(pop_lease(f, "t"), "")), 200,
                 "{\"due_ms\":null,\"tries\":1,\"death\":\"tries\"}");
    reply = call(f, "GET", JOB, NULL);
    assert_has(reply, "\"state\":\"dead\"");
    assert_has(reply, "\"death\":\"tries\"}");
    assert_true(strtoll(member_of(reply, "died_ms"), NULL, 10) > 0);
}

static void puts_a_job_aside(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    assert_error(call(f, "POST", JOB "/bury", "{\"lease\":\"1\"}"), 409, "not_reserved");
    assert_reply(call(f, "POST", JOB "/bury", with_lease(pop_lease(f, "t"), "")), 200,
                 "{\"death\":\"buried\",\"tries\":1}");
    assert_has(call(f, "GET", JOB, NULL), "\"death\":\"buried\"}");
}

static void shows_who_has_a_job_and_until_when(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_set_now(f->ms, 1900000000000);
    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"ttl_ms\":86400000}");
    pop_lease(f, "t");
    AWAIT(f,
          memory_store_count(f->ms, OP_DELIVERED) == 1 && memory_store_in_flight(f->ms) == 0);
    reply = call(f, "GET", JOB, NULL);
    assert_time(reply, "expires_ms", 1900086400000);
    assert_time(reply, "deadline_ms", 1900000060000);
    assert_has(reply, "\"holder\":\"http 127.0.0.1:");
    assert_has(reply, "@test-node\"");
}

static void keeps_a_job_for_longer(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\",\"ttr_ms\":60000}");
    memory_store_set_now(f->ms, 1900000000000);
    assert_time(
        call(f, "POST", JOB "/touch", with_lease(pop_lease(f, "t"), ",\"ttr_ms\":600000")),
        "deadline_ms", 1900000600000);
    fixture_pass(f, 300000);
    assert_string_equal(state_of(f, "t", "1"), "reserved");
    fixture_pass(f, 301000);
    assert_string_equal(state_of(f, "t", "1"), "ready");
}

static void says_what_is_wrong_with_a_lease(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    assert_error(call(f, "POST", JOB "/ack", NULL), 400, "bad_request");
    assert_error(call(f, "POST", JOB "/ack", "[]"), 400, "bad_request");
    reply = call(f, "POST", JOB "/release", "{\"lease\":\"1\",\"ttr_ms\":1}");
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "\"ttr_ms: unknown member\"");
    assert_error(call(f, "POST", JOB "/touch", "{\"lease\":\"1\",\"ttr_ms\":604800001}"), 400,
                 "out_of_range");
}

static void tells_what_may_have_happened(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_error(call(f, "DELETE", JOB, NULL), 504, "unknown");
    memory_store_take_down(f->ms);
    assert_error(call(f, "GET", JOB, NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
    assert_error(call(f, "GET", JOB, NULL), 404, "not_found");
}

static void survives_a_client_that_leaves_before_the_answer(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    call_and_break_off(f, "DELETE", JOB, NULL, OP_CANCEL);
    assert_string_equal(state_of(f, "t", "1"), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shows_a_job_as_it_is),
        TEST(shows_all_of_a_job_but_its_lease),
        TEST(cancels_a_job),
        TEST(acknowledges_with_the_lease_alone),
        TEST(whoever_is_too_late_hears_that_the_time_to_run_has_run_out),
        TEST(gives_a_job_back_at_once_or_later),
        TEST(a_job_given_back_rests_as_its_backoff_says),
        TEST(a_job_whose_tries_are_used_up_is_dead),
        TEST(puts_a_job_aside),
        TEST(shows_who_has_a_job_and_until_when),
        TEST(keeps_a_job_for_longer),
        TEST(says_what_is_wrong_with_a_lease),
        TEST(tells_what_may_have_happened),
        TEST(survives_a_client_that_leaves_before_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
