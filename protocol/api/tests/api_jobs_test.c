/* Jobs over HTTP: what is done to one, and what it went through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

/* ---- one job ---- */

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

/* ---- acknowledged together ---- */

#define ACKS "/v1/topics/t/ack"

/* Pops a job and copies its lease. */
static void pop_into(struct fixture *f, char lease[32])
{
    snprintf(lease, 32, "%s", pop_lease(f, "t"));
}

static void acknowledges_several_each_by_itself(void **state)
{
    struct fixture *f = *state;
    char one[32], two[32], text[512];
    const char *reply;

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    push(f, "t", "{\"id\":\"2\",\"body\":\"b\"}");
    push(f, "t", "{\"id\":\"3\",\"body\":\"b\"}");
    pop_into(f, one);
    pop_into(f, two);
    snprintf(text, sizeof(text),
             "{\"leases\":[{\"id\":\"1\",\"lease\":\"%s\"},{\"id\":\"3\",\"lease\":\"9\"},"
             "{\"id\":\"nobody\",\"lease\":\"9\"},{\"id\":\"2\"},7,"
             "{\"id\":\"2\",\"lease\":\"%s\"},{\"id\":\"2\",\"lease\":\"%s\"}]}",
             one, two, two);
    reply = call(f, "POST", ACKS, text);
    assert_reply(
        reply, 200,
        "{\"results\":[{\"id\":\"1\"},"
        "{\"error\":{\"code\":\"not_reserved\",\"message\":\"the lease is over: its time to "
        "run (TTR) "
        "has run out, or the job was given back or moved; nobody holds it now\"}},"
        "{\"error\":{\"code\":\"not_found\",\"message\":\"no such job\"}},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"lease: missing (pop gives it "
        "with each job)\"}},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"not an object\"}},"
        "{\"id\":\"2\"},"
        "{\"error\":{\"code\":\"not_found\",\"message\":\"no such job\"}}]}");
    assert_string_equal(state_of(f, "t", "3"), "ready");
}

static void refuses_what_is_no_list_of_leases_as_a_whole(void **state)
{
    struct fixture *f = *state;

    assert_error(call(f, "POST", ACKS, NULL), 400, "bad_request");
    assert_error(call(f, "POST", ACKS, "[]"), 400, "bad_request");
    assert_error(call(f, "POST", ACKS, "{\"leases\":[]}"), 400, "out_of_range");
}

static void survives_a_client_that_leaves_in_the_midst_of_several(void **state)
{
    struct fixture *f = *state;
    char lease[32], text[128];

    push(f, "t", "{\"id\":\"1\",\"body\":\"b\"}");
    pop_into(f, lease);
    AWAIT(f, memory_store_in_flight(f->ms) == 0);
    snprintf(text, sizeof(text), "{\"leases\":[{\"id\":\"1\",\"lease\":\"%s\"}]}", lease);
    call_and_break_off(f, "POST", ACKS, text, OP_ACK);
    assert_string_equal(state_of(f, "t", "1"), "");
}

/* ---- moved ---- */

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

/* ---- its history ---- */

#define HISTORY "/v1/topics/t/jobs/1/history"

static void turn_on(struct fixture *f)
{
    assert_starts(call(f, "PATCH", "/v1/topics/t/settings", "{\"history\":true}"),
                  "HTTP/1.1 200 ");
}

static void knows_nothing_where_it_is_off(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_reply(call(f, "GET", HISTORY, NULL), 200, "{\"is_on\":false,\"history\":[]}");
}

static void tells_oldest_first_what_a_job_went_through_and_who_did_it(void **state)
{
    struct fixture *f = *state;
    const char *reply, *pushed, *moved, *cancelled;

    turn_on(f);
    memory_store_set_now(f->ms, 1900000000000);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\",\"delay_ms\":60000}");
    call(f, "POST", "/v1/topics/t/jobs/1/run", NULL);
    call(f, "DELETE", "/v1/topics/t/jobs/1", NULL);
    reply = call(f, "GET", HISTORY, NULL);
    assert_starts(json_of(reply),
                  "{\"is_on\":true,\"history\":[{\"event\":\"pushed\",\"time_ms\":19");
    assert_time(reply, "time_ms", 1900000000000);
    assert_time(reply, "at_ms", 1900000060000);
    assert_has(reply, "\"node\":\"test-node\",\"client\":\"http 127.0.0.1:");
    pushed = strstr(reply, "\"pushed\"");
    moved = strstr(reply, "\"moved\"");
    cancelled = strstr(reply, "\"cancelled\"");
    assert_true(pushed && moved && cancelled && pushed < moved && moved < cancelled);
}

static void tells_the_newest_lines_when_it_must_choose(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    turn_on(f);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    call(f, "DELETE", "/v1/topics/t/jobs/1", NULL);
    reply = call(f, "GET", HISTORY "?limit=1", NULL);
    assert_has(reply, "\"history\":[{\"event\":\"cancelled\"");
    assert_null(strstr(reply, "pushed"));
}

/* More than the store tells at a time. */
static void write_a_long_history(struct fixture *f)
{
    char job[64];

    turn_on(f);
    push(f, "t", "{\"id\":\"1\",\"body\":\"\",\"delay_ms\":60000}");
    for (int i = 1; i <= OP_RECORDS_MAX; i++) {
        snprintf(job, sizeof(job), "{\"delay_ms\":%d}", 60000 + i * 1000);
        assert_starts(call(f, "POST", "/v1/topics/t/jobs/1/reschedule", job), "HTTP/1.1 200 ");
    }
}

static void asks_no_further_for_a_client_that_has_gone(void **state)
{
    struct fixture *f = *state;

    write_a_long_history(f);
    call_and_break_off(f, "GET", HISTORY "?limit=1000", NULL, OP_TRACE);
    assert_int_equal(memory_store_count(f->ms, OP_TRACE), 1);
}

static void tells_all_to_a_client_that_has_only_ended_its_side(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);
    const char *reply;

    write_a_long_history(f);
    memory_store_hold(f->ms);
    send_call(&c, "GET", HISTORY "?limit=1000", NULL);
    AWAIT(f, memory_store_count(f->ms, OP_TRACE) == 1);
    end_sending(&c);
    fixture_pass(f, 100);
    memory_store_unhold(f->ms);
    reply = receive_all(&c);
    assert_has(reply, "\"history\":[{\"event\":\"pushed\"");
    assert_int_equal(memory_store_count(f->ms, OP_TRACE), 2);
    leave(&c);
}

static void says_what_is_wrong_with_a_look_back(void **state)
{
    struct fixture *f = *state;

    assert_error(call(f, "GET", HISTORY "?limit=0", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", HISTORY "?limit=1001", NULL), 400, "out_of_range");
    assert_error(call(f, "GET", "/v1/topics/%20/jobs/1/history", NULL), 400, "bad_topic");
    assert_error(call(f, "GET", "/v1/topics/t/jobs/%20/history", NULL), 400, "bad_id");
    memory_store_take_down(f->ms);
    assert_error(call(f, "GET", HISTORY, NULL), 503, "unavailable");
    memory_store_bring_up(f->ms);
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
        TEST(acknowledges_several_each_by_itself),
        TEST(refuses_what_is_no_list_of_leases_as_a_whole),
        TEST(survives_a_client_that_leaves_in_the_midst_of_several),
        TEST(makes_a_delayed_job_ready),
        TEST(takes_a_job_from_its_consumer),
        TEST(only_a_kick_brings_the_dead_back),
        TEST(makes_a_job_due_at_another_time),
        TEST(a_body_that_says_something_is_not_thrown_away),
        TEST(a_dead_job_may_come_back_later),
        TEST(says_what_is_wrong_with_a_time),
        TEST(knows_nothing_where_it_is_off),
        TEST(tells_oldest_first_what_a_job_went_through_and_who_did_it),
        TEST(tells_the_newest_lines_when_it_must_choose),
        TEST(asks_no_further_for_a_client_that_has_gone),
        TEST(tells_all_to_a_client_that_has_only_ended_its_side),
        TEST(says_what_is_wrong_with_a_look_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
