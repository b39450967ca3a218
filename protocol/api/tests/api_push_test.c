#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/api/tests/api_fixture.h"

#define JOBS "/v1/topics/t/jobs"

/* A time that is surely to come, and near enough. */
#define AT_MS "\"at_ms\":1900000000000"

static void take_the_store_away(struct fixture *f)
{
    fixture_pass(f, 0); /* all settings are read */
    memory_store_take_down(f->ms);
    memory_store_let_wait(f->ms);
    fixture_turn(f);
}

/* ---- one job ---- */

static void answers_with_the_id_and_when_it_is_due(void **state)
{
    struct fixture *f = *state;

    assert_reply(call(f, "POST", JOBS, "{\"id\":\"a\\/1\",\"body\":\"b\"," AT_MS "}"), 201,
                 "{\"id\":\"a/1\",\"due_ms\":1900000000000}");
    assert_string_equal(state_of(f, "t", "a%2F1"), "delayed");
}

static void gives_an_id_to_a_job_that_has_none(void **state)
{
    struct fixture *f = *state;
    char id[32];

    snprintf(id, sizeof(id), "%s", member_of(call(f, "POST", JOBS, "{\"body\":\"b\"}"), "id"));
    assert_true(strtoll(id, NULL, 10) > 0);
    assert_string_equal(state_of(f, "t", id), "ready");
}

static void keeps_every_byte_of_a_body(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body_base64\":\"AP/+gA==\"}");
    assert_string_equal(member_of(call(f, "GET", JOBS "/1", NULL), "body_base64"), "AP/+gA==");
    push(f, "t", "{\"id\":\"2\",\"body\":\"\\ud83d\\ude00\"}");
    assert_string_equal(member_of(call(f, "GET", JOBS "/2", NULL), "body"), "\xf0\x9f\x98\x80");
}

static void says_what_is_wrong_with_a_job(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    assert_error(call(f, "POST", JOBS, NULL), 400, "bad_request");
    assert_error(call(f, "POST", JOBS, "{"), 400, "bad_request");
    assert_error(call(f, "POST", JOBS, "\"text\""), 400, "bad_request");
    reply = call(f, "POST", JOBS, "{\"body\":\"\",\"delay\\u0022\\u00e9\":1}");
    assert_error(reply, 400, "bad_request");
    assert_has(reply, "\"message\":\"delay\\\"\xc3\xa9: unknown member\"}}");
    assert_error(call(f, "POST", JOBS, "{\"body\":\"\",\"delay_ms\":-1}"), 400, "out_of_range");
    assert_error(call(f, "POST", JOBS, "{\"body\":\"\",\"id\":\"\"}"), 400, "bad_id");
    assert_error(call(f, "POST", JOBS, "{\"body\":\"\",\"id\":\"a b\"}"), 400, "bad_id");
    assert_error(call(f, "POST", "/v1/topics/%2Dt/jobs", "{\"body\":\"\"}"), 400, "bad_topic");
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 0);
}

static void refuses_an_id_that_lives(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    assert_error(call(f, "POST", JOBS, "{\"id\":\"1\",\"body\":\"\"}"), 409, "duplicate");
}

/* Nothing but a push is refused for it. */
static void refuses_a_job_more_than_its_topic_may_have(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    call(f, "PATCH", "/v1/topics/t/settings", "{\"max_jobs\":1}");
    push(f, "t", "{\"id\":\"1\",\"body\":\"\"}");
    reply = call(f, "POST", JOBS, "{\"body\":\"\"}");
    assert_error(reply, 429, "topic_full");
    assert_has(reply, "\r\nRetry-After: 1\r\n");
    reply =
        call(f, "POST", JOBS, "[{\"id\":\"2\",\"body\":\"\"},{\"id\":\"1\",\"body\":\"\"}]");
    assert_has(reply, "{\"results\":[{\"error\":{\"code\":\"topic_full\",");
    assert_has(reply, "{\"error\":{\"code\":\"duplicate\",");
    assert_starts(call(f, "DELETE", JOBS "/1", NULL), "HTTP/1.1 204 ");
    push(f, "t", "{\"id\":\"2\",\"body\":\"\"}");
}

static void replaces_or_ignores_when_asked_to(void **state)
{
    struct fixture *f = *state;

    push(f, "t", "{\"id\":\"1\",\"body\":\"first\"," AT_MS "}");
    assert_reply(call(f, "POST", JOBS,
                      "{\"id\":\"1\",\"body\":\"second\",\"at_ms\":1900000000001,"
                      "\"mode\":\"ignore\"}"),
                 200, "{\"id\":\"1\",\"due_ms\":1900000000000,\"existed\":true}");
    assert_string_equal(member_of(call(f, "GET", JOBS "/1", NULL), "body"), "first");
    assert_reply(call(f, "POST", JOBS,
                      "{\"id\":\"1\",\"body\":\"third\",\"at_ms\":1900000000003,"
                      "\"mode\":\"replace\"}"),
                 201, "{\"id\":\"1\",\"due_ms\":1900000000003,\"existed\":true}");
    assert_string_equal(member_of(call(f, "GET", JOBS "/1", NULL), "body"), "third");
    assert_reply(call(f, "POST", JOBS,
                      "{\"id\":\"2\",\"body\":\"\",\"at_ms\":1900000000003,"
                      "\"mode\":\"ignore\"}"),
                 201, "{\"id\":\"2\",\"due_ms\":1900000000003}");
}

static void says_which_time_is_out_of_range(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    reply = call(f, "POST", JOBS, "{\"body\":\"\",\"ttl_ms\":1000," AT_MS "}");
    assert_error(reply, 400, "out_of_range");
    assert_has(reply, "if it has a ttl, not before that is over");
    reply = call(f, "POST", JOBS, "[{\"body\":\"\",\"at_ms\":281474976710655}]");
    assert_has(reply, "it would be due in more than 3650 days");
}

static void refuses_a_body_above_the_limit(void **state)
{
    struct fixture *f = *state;
    char *job = malloc(JOB_BODY_MAX + 20);

    assert_non_null(job);
    sprintf(job, "{\"body\":\"%*s\"}", JOB_BODY_MAX, "");
    push(f, "t", job);
    sprintf(job, "{\"body\":\"%*s\"}", JOB_BODY_MAX + 1, "");
    assert_error(call(f, "POST", JOBS, job), 413, "too_large");
    free(job);
}

static void tells_what_did_not_happen_from_what_may_have(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_error(call(f, "POST", JOBS, "{\"id\":\"1\",\"body\":\"\"}"), 504, "unknown");
    assert_string_equal(state_of(f, "t", "1"), "ready");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_error(call(f, "POST", JOBS, "{\"id\":\"2\",\"body\":\"\"}"), 502, "store_error");
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    reply = call(f, "POST", JOBS, "{\"id\":\"2\",\"body\":\"\"}");
    assert_error(reply, 503, "unavailable");
    assert_has(reply, "\r\nRetry-After: 1\r\n");
    assert_string_equal(state_of(f, "t", "2"), "");
}

/* ---- lists ---- */

static void gives_each_job_of_a_list_its_own_result_in_order(void **state)
{
    struct fixture *f = *state;

    /* The third is refused by the queue, a turn before or after the store answers. */
    assert_reply(
        call(f, "POST", JOBS,
             " [ {\"id\":\"1\",\"body\":\"\"," AT_MS "}, {\"body\":7},"
             "{\"id\":\"a b\",\"body\":\"\"}, {\"id\":\"1\",\"body\":\"\"}, null,"
             "{\"id\":\"2\",\"body\":\"\"," AT_MS "} ] "),
        200,
        "{\"results\":[{\"id\":\"1\",\"due_ms\":1900000000000},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"body: not a string (send "
        "other JSON as its text, in a string)\"}},"
        "{\"error\":{\"code\":\"bad_id\",\"message\":\"a job id is 1 to 200 printable ASCII "
        "characters without white space, and not '.' or '..'\"}},"
        "{\"error\":{\"code\":\"duplicate\",\"message\":\"a job with this id is alive "
        "in the topic\"}},"
        "{\"error\":{\"code\":\"bad_request\",\"message\":\"not an object\"}},"
        "{\"id\":\"2\",\"due_ms\":1900000000000}]}");
    assert_string_equal(state_of(f, "t", "1"), "delayed");
    assert_string_equal(state_of(f, "t", "2"), "delayed");
}

static void keeps_unknown_apart_in_a_list(void **state)
{
    struct fixture *f = *state;

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_reply(call(f, "POST", JOBS,
                      "[{\"id\":\"1\",\"body\":\"\"},{\"id\":\"2\",\"body\":\"\"," AT_MS "}]"),
                 200,
                 "{\"results\":[{\"error\":{\"code\":\"unknown\",\"message\":\"the store did "
                 "not answer; the operation may have happened\"}},"
                 "{\"id\":\"2\",\"due_ms\":1900000000000}]}");
}

static void answers_a_list_of_which_nothing_is_good(void **state)
{
    assert_reply(call(*state, "POST", JOBS, "[7]"), 200,
                 "{\"results\":[{\"error\":{\"code\":\"bad_request\",\"message\":"
                 "\"not an object\"}}]}");
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* A list of `count` jobs; to be freed. */
static char *list_of(unsigned count)
{
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < count; i++)
        buf_printf(&text, "%s{\"id\":\"%u\",\"body\":\"%u\"}", i ? "," : "[", i, i);
    buf_add_text(&text, "]");
    return (char *)buf_text(&text);
}

static void takes_a_thousand_jobs_and_not_one_more(void **state)
{
    struct fixture *f = *state;
    char *jobs = list_of(1000);

    assert_int_equal(count_of(call(f, "POST", JOBS, jobs), "\"due_ms\":"), 1000);
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 1000);
    free(jobs);
    jobs = list_of(1001);
    assert_error(call(f, "POST", JOBS, jobs), 400, "out_of_range");
    free(jobs);
    assert_error(call(f, "POST", JOBS, "[]"), 400, "out_of_range");
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 1000);
}

static void survives_a_client_that_leaves_before_the_last_result(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    memory_store_hold(f->ms);
    send_call(&c, "POST", JOBS,
              "[7,{\"id\":\"1\",\"body\":\"\"},{\"id\":\"2\",\"body\":\"\"}]");
    AWAIT(f, memory_store_count(f->ms, OP_PUSH) == 2);
    reset(&c);
    memory_store_release(f->ms, 1);
    fixture_turn(f);
    memory_store_unhold(f->ms);
    AWAIT(f, memory_store_in_flight(f->ms) == 0);
    assert_string_equal(state_of(f, "t", "2"), "ready");
}

static void finishes_a_list_that_was_under_way_when_the_node_stops(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    memory_store_hold(f->ms);
    send_call(&c, "POST", JOBS, "[{\"id\":\"1\",\"body\":\"\"," AT_MS "},7]");
    AWAIT(f, memory_store_count(f->ms, OP_PUSH) == 1);
    fixture_stop(f);
    fixture_turn(f);
    memory_store_unhold(f->ms);
    assert_has(receive_all(&c), "{\"results\":[{\"id\":\"1\",\"due_ms\":1900000000000},"
                                "{\"error\":");
    leave(&c);
}

/* ---- clients that leave while the store is away ---- */

static void send_and_leave(struct fixture *f, const char *body, bool breaks_off)
{
    uint64_t before = http_port(f->http)->stats.requests;
    struct client c = connect_client(f);

    send_call(&c, "POST", JOBS, body);
    AWAIT(f, http_port(f->http)->stats.requests == before + 1);
    if (breaks_off)
        reset(&c);
    else
        leave(&c);
    fixture_turn(f);
    fixture_pass(f, 100);
    AWAIT(f, http_port(f->http)->stats.connections == 0);
}

static void drops_what_waits_for_the_store_when_its_client_leaves(void **state)
{
    struct fixture *f = *state;

    take_the_store_away(f);
    send_and_leave(f, "{\"id\":\"1\",\"body\":\"\"}", false);
    send_and_leave(f, "{\"id\":\"2\",\"body\":\"\"}", true);
    send_and_leave(f, "[{\"id\":\"3\",\"body\":\"\"},{\"id\":\"4\",\"body\":\"\"}]", false);
    assert_int_equal(memory_store_dropped(f->ms), 4);
    memory_store_bring_up(f->ms);
    for (unsigned i = 1; i <= 4; i++) {
        char id[2] = {(char)('0' + i), '\0'};

        assert_string_equal(state_of(f, "t", id), "");
    }
}

static void tells_who_has_ended_its_side_that_nothing_happened(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    take_the_store_away(f);
    send_call(&c, "POST", JOBS, "{\"id\":\"1\",\"body\":\"\"}");
    end_sending(&c);
    fixture_turn(f);
    fixture_pass(f, 100);
    assert_error(receive_all(&c), 503, "unavailable");
    leave(&c);
    memory_store_bring_up(f->ms);
    assert_string_equal(state_of(f, "t", "1"), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_with_the_id_and_when_it_is_due),
        TEST(gives_an_id_to_a_job_that_has_none),
        TEST(keeps_every_byte_of_a_body),
        TEST(says_what_is_wrong_with_a_job),
        TEST(refuses_an_id_that_lives),
        TEST(refuses_a_job_more_than_its_topic_may_have),
        TEST(replaces_or_ignores_when_asked_to),
        TEST(says_which_time_is_out_of_range),
        TEST(refuses_a_body_above_the_limit),
        TEST(tells_what_did_not_happen_from_what_may_have),
        TEST(gives_each_job_of_a_list_its_own_result_in_order),
        TEST(keeps_unknown_apart_in_a_list),
        TEST(answers_a_list_of_which_nothing_is_good),
        TEST(takes_a_thousand_jobs_and_not_one_more),
        TEST(survives_a_client_that_leaves_before_the_last_result),
        TEST(finishes_a_list_that_was_under_way_when_the_node_stops),
        TEST(drops_what_waits_for_the_store_when_its_client_leaves),
        TEST(tells_who_has_ended_its_side_that_nothing_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
