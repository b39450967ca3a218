#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

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
        TEST(knows_nothing_where_it_is_off),
        TEST(tells_oldest_first_what_a_job_went_through_and_who_did_it),
        TEST(tells_the_newest_lines_when_it_must_choose),
        TEST(asks_no_further_for_a_client_that_has_gone),
        TEST(tells_all_to_a_client_that_has_only_ended_its_side),
        TEST(says_what_is_wrong_with_a_look_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
